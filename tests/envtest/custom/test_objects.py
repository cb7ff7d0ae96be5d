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
