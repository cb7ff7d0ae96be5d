"""Custom resources as objects: what they must say, what is told of them, and how they go with their definition."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.envtest.conftest import Http
from tests.envtest.custom.test_rules import DEFINITIONS, MERGE, WIDGETS, define, definition, of_spec, refused, widget

DEFINITION = f"{DEFINITIONS}/widgets.example.com"


async def warnings(http: Http, method: str, path: str, body: Any, type_: str = "application/json") -> list[str]:
    data = io.BytesIO(json.dumps(body).encode())
    async with http.session.request(
        method, http.server.url + path, data=data, headers={"Content-Type": type_}
    ) as response:
        assert response.status < 300, await response.text()
        return [text.partition(" - ")[2][1:-1].replace('\\"', '"') for text in response.headers.getall("Warning", [])]


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("date-time", "2026-01-01T00:00:00Z", "yesterday"),
        ("date", "2026-01-31", "2026-02-31"),
        ("ipv4", "10.0.0.1", "10.0.0"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("uuid", "01234567-89ab-cdef-0123-456789abcdef", "01234567"),
        ("byte", "YQ==", "a?"),
        ("email", "a@example.com", "a at b"),
        ("uri", "https://example.com/a", "a b"),
        ("duration", "1h30m", "soon"),
        ("hostname", "a.example.com", "a_b"),
    ],
)
async def test_texts_are_of_the_format_that_the_schema_says(http: Http, form: str, good: str, bad: str) -> None:
    await define(http, of_spec(text={"type": "string", "format": form}))
    [cause] = await refused(http, "POST", WIDGETS, widget(text=bad))
    told = f'Invalid value: "{bad}": spec.text in body must be of type {form}: "{bad}"'
    assert cause == {"field": "spec.text", "reason": "FieldValueTypeInvalid", "message": told}
    await http.create(WIDGETS, widget(text=good))


async def test_a_format_that_nobody_knows_says_nothing_and_is_warned_of(http: Http) -> None:
    body = definition(of_spec(text={"type": "string", "format": "strange"}))
    assert await warnings(http, "POST", DEFINITIONS, body) == ['unrecognized format "strange"']
    await http.create(WIDGETS, widget(text="anything"))


async def test_metadata_is_kept_also_where_the_schema_has_a_word_for_it(http: Http) -> None:
    schema = of_spec()
    schema["properties"]["metadata"] = {"type": "object"}
    await define(http, schema)

    made = await http.create(WIDGETS, {**widget(), "metadata": {"name": "w", "labels": {"a": "b"}}})

    assert (made["metadata"]["name"], made["metadata"]["labels"]) == ("w", {"a": "b"})


async def test_whole_numbers_are_stored_without_a_point(http: Http) -> None:
    await define(
        http,
        of_spec(
            count={"type": "integer"}, ratio={"type": "number"}, more={"type": "array", "items": {"type": "number"}}
        ),
    )
    made = await http.create(WIDGETS, widget(count=4.0, ratio=2.0, more=[-0.0, 1.5, 123456789012345680000.0, 1e22]))
    assert json.dumps([made["spec"][name] for name in ("count", "ratio", "more")]) == (
        "[4, 2, [0, 1.5, 123456789012345680000, 1e+22]]"
    )
    patched = await http.merge(f"{WIDGETS}/{made['metadata']['name']}", {"spec": {"ratio": 3.0}})
    assert type(patched["spec"]["ratio"]) is int


async def test_a_schema_limits_names_of_new_objects(http: Http) -> None:
    await define(http, of_spec())
    await http.create(WIDGETS, {**widget(), "metadata": {"name": "longer"}})
    schema = of_spec()
    schema["properties"]["metadata"] = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
    await http("PATCH", DEFINITION, {"spec": {"versions": definition(schema)["spec"]["versions"]}}, MERGE)

    [cause] = await refused(http, "POST", WIDGETS, {**widget(), "metadata": {"name": "longest"}})

    told = "Too long: may not be more than 5 bytes"
    assert cause == {"field": "metadata.name", "reason": "FieldValueTooLong", "message": told}
    code, _ = await http("PATCH", f"{WIDGETS}/longer", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert code == 200


async def test_a_custom_resource_says_what_it_is(http: Http) -> None:
    await define(http, of_spec())
    for fields, code, told in (
        ({"kind": ""}, 400, "Object 'Kind' is missing in 'object has no kind field '"),
        (
            {"apiVersion": ""},
            400,
            "the API version in the data () does not match the expected API version (example.com/v1)",
        ),
        ({"kind": "Gadget"}, 422, 'Gadget.example.com "w" is invalid: kind: Invalid value: "Gadget": must be Widget'),
    ):
        answer = await http("POST", WIDGETS, {**widget(), **fields})
        assert (answer[0], answer[1]["message"]) == (code, told)
    await http.create(WIDGETS, widget())
    code, refusal = await http("PATCH", f"{WIDGETS}/w", {"kind": "Gadget"}, MERGE)
    assert (code, refusal["details"]["causes"][0]["field"]) == (422, "kind")


async def test_a_finalizer_that_others_might_call_theirs_is_warned_of(http: Http) -> None:
    await define(http, of_spec())
    body = {**widget(), "metadata": {"name": "w", "finalizers": ["example.com/mine", "simple"]}}
    told = 'metadata.finalizers: "{}": prefer a domain-qualified finalizer name{} to avoid accidental conflicts with '
    told += "other finalizer writers"
    assert await warnings(http, "POST", WIDGETS, body) == [told.format("simple", "")]
    change = {"metadata": {"finalizers": ["simple", "a.example.com"]}}
    said = await warnings(http, "PATCH", f"{WIDGETS}/w", change, MERGE)
    assert said == [told.format("a.example.com", " including a path (/)")]


async def test_a_scale_without_replicas_is_none(http: Http) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    await define(http, of_spec(), subresources={"scale": scale})
    await http.create(WIDGETS, widget())
    code, refusal = await http("GET", f"{WIDGETS}/w/scale")
    assert (code, refusal["reason"]) == (500, "InternalError")
    assert refusal["message"] == 'Internal error occurred: the spec replicas field ".spec.size" does not exist'


async def test_a_definition_is_marked_before_it_goes(http: Http) -> None:
    await define(http, of_spec())
    await http.create(WIDGETS, widget())
    code, marked = await http("DELETE", DEFINITION)
    assert (code, marked["kind"]) == (200, "CustomResourceDefinition")
    assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert "deletionTimestamp" in marked["metadata"]
    condition = marked["status"]["conditions"][-1]
    assert (condition["type"], condition["status"]) == ("Terminating", "True")
    assert condition["reason"] == "InstanceDeletionPending"
    assert (await http("GET", DEFINITION))[0] == 404
    assert await http("GET", WIDGETS) == (404, "404 page not found\n")


async def test_a_definition_waits_for_objects_that_finalizers_hold(http: Http) -> None:
    await define(http, of_spec())
    await http.create(WIDGETS, {**widget(), "metadata": {"name": "w", "finalizers": ["example.com/wait"]}})
    assert (await http("DELETE", DEFINITION))[0] == 200
    waiting = await http.get(DEFINITION)
    assert waiting["status"]["conditions"][-1]["reason"] == "InstanceDeletionInProgress"
    assert "deletionTimestamp" in (await http.get(f"{WIDGETS}/w"))["metadata"]
    await http.merge(f"{WIDGETS}/w", {"metadata": {"finalizers": None}})
    assert (await http("GET", DEFINITION))[0] == 404
    await define(http, of_spec())
    assert (await http.get(WIDGETS))["items"] == []


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        (
            {"anyOf": [{"minLength": 3}, {"pattern": "^x"}]},
            "y",
            '"spec.text" must validate at least one schema (anyOf)',
        ),
        (
            {"oneOf": [{"minLength": 3}, {"pattern": "^x"}]},
            "xxx",
            '"spec.text" must validate one and only one schema (oneOf). Found 2 valid alternatives',
        ),
        (
            {"allOf": [{"minLength": 3}, {"pattern": "^x"}]},
            "y",
            '"spec.text" must validate all the schemas (allOf). None validated',
        ),
        ({"not": {"pattern": "^x"}}, "x", '"spec.text" must not validate the schema (not)'),
    ],
)
async def test_what_several_schemas_have_against_a_value_is_said_of_no_field(
    http: Http, schema: dict[str, Any], value: str, told: str
) -> None:
    await define(http, of_spec(text={"type": "string", **schema}))
    found = await refused(http, "POST", WIDGETS, widget(text=value))
    assert [one["message"] for one in found if one["field"] == "<nil>"] == [f'Invalid value: "": {told}']


async def test_of_what_is_wrong_with_a_text_the_first_is_told(http: Http) -> None:
    await define(http, of_spec(text={"type": "string", "minLength": 2, "pattern": "^x"}))
    [cause] = await refused(http, "POST", WIDGETS, widget(text="y"))
    assert cause["message"] == 'Invalid value: "y": spec.text in body should be at least 2 chars long'


async def test_a_status_is_looked_at_by_itself(http: Http) -> None:
    schema = of_spec(size={"type": "integer"})
    schema["properties"]["status"] = {"type": "object", "properties": {"ready": {"type": "integer"}}}
    await define(http, schema, subresources={"status": {}})
    await http.create(WIDGETS, widget())
    [cause] = await refused(http, "PATCH", f"{WIDGETS}/w/status", {"status": {"ready": "no"}}, MERGE)
    told = 'Invalid value: "string": ready in body must be of type integer: "string"'
    assert cause == {"field": "status.ready", "reason": "FieldValueTypeInvalid", "message": told}


SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
INTEGER = {"type": "integer"}
COUNT = {"type": "object", "properties": {"replicas": INTEGER, "selector": {"type": "string"}}}


async def test_a_patched_scale_must_set_replicas_that_its_object_lacks(http: Http) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    await define(http, of_spec(size={"type": "integer"}), subresources={"scale": scale})
    await http.create(WIDGETS, widget())
    code, refusal = await http("PATCH", f"{WIDGETS}/w/scale", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert (code, refusal["reason"]) == (400, "BadRequest")
    assert refusal["message"] == 'the spec replicas field ".spec.size" cannot be empty'
    await http.merge(f"{WIDGETS}/w/scale", {"spec": {"replicas": 2}})
    assert (await http.get(f"{WIDGETS}/w"))["spec"]["size"] == 2


def scaled(**scale: str) -> dict[str, Any]:
    schema = of_spec(replicas=INTEGER, other={"type": "string"})
    schema["properties"]["status"] = COUNT
    body = definition(schema)
    body["spec"]["versions"][0]["subresources"] = {"status": {}, "scale": {**SCALE, **scale}}
    return body


@pytest.mark.parametrize(
    ("replicas", "told"),
    [(-1, "should be a non-negative integer"), (2**31, "should be less than or equal to 2147483647")],
)
async def test_what_scales_has_as_many_replicas_as_there_can_be(http: Http, replicas: int, told: str) -> None:
    await http.create(DEFINITIONS, scaled())
    [cause] = await refused(http, "POST", WIDGETS, widget(replicas=replicas))
    message = f"Invalid value: {replicas}: {told}"
    assert cause == {"field": ".spec.replicas", "reason": "FieldValueInvalid", "message": message}
    await http.create(WIDGETS, widget(replicas=1))
    body = {"status": {"replicas": replicas}}
    [cause] = await refused(http, "PATCH", f"{WIDGETS}/w/status", body, MERGE)
    assert cause == {"field": ".status.replicas", "reason": "FieldValueInvalid", "message": message}


async def test_a_scale_says_of_its_replicas_what_its_object_says(http: Http) -> None:
    await http.create(DEFINITIONS, scaled())
    await http.create(WIDGETS, widget(replicas=1))
    _, refusal = await http("PATCH", f"{WIDGETS}/w/scale", {"spec": {"replicas": -1}}, MERGE)
    told = 'Widget.example.com "w" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer'
    assert (refusal["code"], refusal["message"]) == (422, told)


async def test_a_scale_that_says_no_version_is_that_of_the_last(http: Http) -> None:
    await http.create(DEFINITIONS, scaled())
    await http.create(WIDGETS, widget(replicas=1))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w"}, "spec": {"replicas": 2}}
    assert (await http("PUT", f"{WIDGETS}/w/scale", scale))[0] == 200
    assert (await http.get(f"{WIDGETS}/w"))["spec"]["replicas"] == 2


async def test_a_patch_makes_no_other_kind(http: Http) -> None:
    await define(http, of_spec())
    await http.create(WIDGETS, widget())
    _, refusal = await http("PATCH", f"{WIDGETS}/w", {"kind": "Other"}, MERGE)
    assert refusal["message"] == 'Other.example.com "w" is invalid: kind: Invalid value: "Other": must be Widget'


async def test_replicas_that_are_no_number_are_told_of_as_what_they_are(http: Http) -> None:
    await http.create(DEFINITIONS, scaled(specReplicasPath=".spec.other", labelSelectorPath=".status.selector"))
    [cause] = await refused(http, "POST", WIDGETS, widget(other="many"))
    told = "Invalid value: 0: .spec.other accessor error: many is of the type string, expected int64"
    assert cause == {"field": ".spec.other", "reason": "FieldValueInvalid", "message": told}


@pytest.mark.parametrize(
    ("schema", "value", "problems"),
    [
        (
            INTEGER,
            1.5,
            [
                ("spec.it", 'Invalid value: "number": spec.it in body must be of type integer: "number"'),
                (
                    "<nil>",
                    'Invalid value: "": Checked value must be of type integer (default format) in spec.it',
                ),
            ],
        ),
        (
            {"type": "integer", "format": "int32"},
            2**31,
            [("<nil>", 'Invalid value: "": Checked value must be of type integer with format int32 in spec.it')],
        ),
        (
            {"type": "number", "format": "float"},
            1e39,
            [("<nil>", 'Invalid value: "": Checked value must be of type number with format float in spec.it')],
        ),
        (
            {"type": "integer", "format": "int32"},
            "three",
            [("spec.it", 'Invalid value: "string": spec.it in body must be of type integer: "string"')],
        ),
        (
            {"type": "integer", "format": "int32"},
            True,
            [("spec.it", 'Invalid value: "": spec.it in body must be of type int32: ""')],
        ),
        (
            {"type": "string", "format": "date"},
            1.5,
            [("spec.it", 'Invalid value: "float64": spec.it in body must be of type date: "float64"')],
        ),
        (
            {"type": "string", "enum": ["a"]},
            1,
            [
                ("spec.it", 'Invalid value: "integer": spec.it in body must be of type string: "integer"'),
                ("spec.it", 'Unsupported value: 1: supported values: "a"'),
            ],
        ),
        (
            {"type": "number", "maximum": 2.5, "multipleOf": 0.1},
            3.0,
            [("spec.it", "Invalid value: 3: spec.it in body should be less than or equal to 2.5")],
        ),
        (
            {"type": "number", "multipleOf": 0.1},
            0.25,
            [("spec.it", "Invalid value: 0.25: spec.it in body should be a multiple of 0.1")],
        ),
        (
            {"type": "number", "maximum": 1000000},
            1500000.5,
            [("spec.it", "Invalid value: 1.5000005e+06: spec.it in body should be less than or equal to 1e+06")],
        ),
        (
            {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            True,
            [
                ("spec.it", 'Invalid value: "boolean": spec.it in body must be of type integer,string: "boolean"'),
                ("<nil>", 'Invalid value: "": "spec.it" must validate at least one schema (anyOf)'),
                ("spec.it", 'Invalid value: "boolean": spec.it in body must be of type integer: "boolean"'),
            ],
        ),
    ],
)
async def test_numbers_must_fit_the_schemas_range_and_type(
    http: Http, schema: dict[str, Any], value: Any, problems: list[tuple[str, str]]
) -> None:
    await define(http, of_spec(it=schema))
    causes = await refused(http, "POST", WIDGETS, widget(it=value))
    assert [(cause["field"], cause["message"]) for cause in causes] == problems


async def test_lists_that_are_sets_or_maps_have_nothing_twice(http: Http) -> None:
    names = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    item = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    ports = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    await define(http, of_spec(names=names, ports=ports))
    body = widget(names=["a", "b", "a", "a"], ports=[{"name": "x"}, {"name": "x"}])
    causes = await refused(http, "POST", WIDGETS, body)
    assert [(cause["field"], cause["message"]) for cause in causes] == [
        ("spec.names[2]", 'Duplicate value: "a"'),
        ("spec.ports[1]", 'Duplicate value: {"name":"x"}'),
    ]


async def test_an_embedded_object_is_an_object_of_the_api(http: Http) -> None:
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    await define(http, of_spec(template=embedded))
    causes = await refused(http, "POST", WIDGETS, widget(template={"kind": "A_b", "metadata": {"labels": {"a b": ""}}}))
    assert [(cause["field"], cause["message"].partition(":")[0]) for cause in causes] == [
        ("spec.template.apiVersion", "Required value"),
        ("spec.template.kind", "Invalid value"),
        ("spec.template.metadata.labels", "Invalid value"),
    ]
    await http.create(WIDGETS, widget(template={"apiVersion": "v1", "kind": "Pod", "metadata": {}}))


async def test_the_metadata_of_an_embedded_object_has_the_types_that_metadata_has(http: Http) -> None:
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    await define(http, of_spec(template=embedded))
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 7}}

    (cause,) = await refused(http, "POST", WIDGETS, widget(template=template))

    assert cause["field"] == "spec.template.metadata"
    assert "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string" in cause["message"]


async def test_the_metadata_of_an_embedded_object_has_only_what_metadata_has(http: Http) -> None:
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    await define(http, of_spec(template=embedded))
    body = widget(template={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "other": 1}, "more": 1})
    assert await warnings(http, "POST", WIDGETS, body) == ['unknown field "spec.template.metadata.other"']
    template = (await http.get(f"{WIDGETS}/w"))["spec"]["template"]
    assert template == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "more": 1}


async def test_metadata_that_is_none_is_refused_as_what_it_is(http: Http) -> None:
    await define(http, of_spec())
    code, refusal = await http("POST", WIDGETS, {**widget(), "metadata": "w"})
    told = 'Widget in version "v1" cannot be handled as a Widget: '
    assert (code, refusal["message"]) == (
        400,
        told + "json: cannot unmarshal string into Go value of type v1.ObjectMeta",
    )


APPLY = "application/apply-patch+yaml"
OMITS = (
    '.spec.map: element 0: associative list with keys has an element that omits all key fields ["a" "b"] '
    "(and doesn't have default values for any key fields)"
)


async def apply(http: Http, manager: str, **spec: Any) -> tuple[int, Any]:
    return await http("PATCH", f"{WIDGETS}/w?fieldManager={manager}&force=true", widget(**spec), APPLY)


async def test_a_forbidden_null_is_left_out_of_a_body(http: Http) -> None:
    await define(http, of_spec(size={"type": "integer"}, color={"type": "string", "nullable": True}))
    made = await http.create(WIDGETS, widget(size=None, color=None))
    assert made["spec"] == {"color": None}


async def test_a_forbidden_null_is_refused_in_an_apply(http: Http) -> None:
    await define(http, of_spec(size={"type": "integer"}))

    [cause] = await refused(http, "PATCH", f"{WIDGETS}/w?fieldManager=one", widget(size=None), APPLY)

    assert cause["message"] == 'Invalid value: "null": spec.size in body must be of type integer: "null"'


@pytest.mark.parametrize(("there", "left"), [("x", None), ([1], None), ({"x": 1}, {"x": 1}), ({}, None)])
async def test_an_applied_null_without_a_schema_replaces_all_but_objects(http: Http, there: Any, left: Any) -> None:
    await define(http, of_spec(free={"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    await apply(http, "one", free={"a": there})

    _, applied = await apply(http, "other", free={"a": None})

    assert applied["spec"] == {"free": {"a": left}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"set": [None]}, ".spec.set: element 0: associative list without keys has an element that's an explicit null"),
        ({"set": [{}]}, ".spec.set: element 0: associative list without keys has an element that's a map type"),
        ({"map": [None]}, ".spec.map: element 0: associative list with keys may not have a null element"),
        ({"map": [{}]}, OMITS),
    ],
)
async def test_an_applied_list_says_why_an_entry_has_no_identity(http: Http, spec: dict[str, Any], told: str) -> None:
    text = {"type": "string"}
    entry = {"type": "object", "required": ["a", "b"], "properties": {"a": text, "b": text}}
    kind, keys = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
    of_map = {"type": "array", kind: "map", keys: ["a", "b"], "items": entry}
    await define(http, of_spec(set={"type": "array", kind: "set", "items": text}, map=of_map))

    code, answer = await apply(http, "one", **spec)

    assert (code, answer["message"].endswith(f": {told}")) == (500, True), answer["message"]
