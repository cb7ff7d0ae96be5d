from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.conftest import Http

pytest.importorskip("cel_expr_python", reason="rules need the extra `cel`")

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
SIZE = {"type": "integer"}


def definition(schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [one]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


def of_spec(*rules: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """A schema whose spec has rules."""
    spec = {"type": "object", "properties": {"size": SIZE, **properties}, "x-kubernetes-validations": list(rules)}
    return {"type": "object", "properties": {"spec": spec}}


async def define(http: Http, schema: dict[str, Any], **version: Any) -> None:
    await http.create(DEFINITIONS, definition(schema, **version))


def widget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


async def refused(http: Http, method: str, path: str, body: Any, type_: str = "application/json") -> list[Any]:
    """The causes of an object that is not right."""
    code, refusal = await http(method, path, body, type_)
    assert (code, refusal["reason"]) == (422, "Invalid"), refusal
    causes: list[Any] = refusal["details"]["causes"]
    said = [f"{cause['field']}: {cause['message']}" for cause in causes]
    told = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    assert refusal["message"].endswith(f" is invalid: {told}")
    return causes


MERGE = "application/merge-patch+json"


async def test_an_object_that_breaks_a_rule_is_refused_with_the_rule(http: Http) -> None:
    await define(http, of_spec({"rule": "self.size < 3"}))
    assert await refused(http, "POST", WIDGETS, widget(size=3)) == [
        {"reason": "FieldValueInvalid", "message": "Invalid value: failed rule: self.size < 3", "field": "spec"}
    ]
    await http.create(WIDGETS, widget(size=2))


async def test_a_rule_of_a_plain_value_shows_the_value(http: Http) -> None:
    await define(http, of_spec(size={**SIZE, "x-kubernetes-validations": [{"rule": "self != 2", "message": "not 2"}]}))
    [cause] = await refused(http, "POST", WIDGETS, widget(size=2))
    assert (cause["field"], cause["message"]) == ("spec.size", "Invalid value: 2: not 2")


async def test_a_rule_reports_its_own_message_and_field_path(http: Http) -> None:
    await define(
        http,
        of_spec(
            {"rule": "self.size < 3", "messageExpression": "'is ' + string(self.size)", "fieldPath": ".size"},
            {"rule": "self.size < 4", "reason": "FieldValueForbidden", "message": " no "},
            {"rule": "self.size < 5", "reason": "FieldValueRequired", "messageExpression": "''"},
        ),
    )
    causes = await refused(http, "POST", WIDGETS, widget(size=5))
    assert [(cause["field"], cause["message"]) for cause in causes] == [
        ("spec.size", "Invalid value: is 5"),
        ("spec", "Forbidden: no"),
        ("spec", "Required value: failed rule: self.size < 5"),
    ]


async def test_a_rule_of_the_whole_object_sees_its_name_and_its_kind(http: Http) -> None:
    rule = {"rule": "self.metadata.name.startsWith('x') && self.kind == 'Widget'"}
    await define(http, {"type": "object", "x-kubernetes-validations": [rule]})
    [cause] = await refused(http, "POST", WIDGETS, widget())
    assert cause["field"] == "<nil>"
    await http.create(WIDGETS, {**widget(), "metadata": {"name": "x"}})


async def test_a_rule_names_a_reserved_word_as_it_is_or_escaped(http: Http) -> None:
    rules = ("self.namespace != 'x'", "self.__namespace__ != 'y'", "!has(self.break)")
    texts = {name: {"type": "string"} for name in ("namespace", "break")}
    await define(http, of_spec(*({"rule": rule} for rule in rules), **texts))
    specs: list[dict[str, Any]] = [{"namespace": "x"}, {"namespace": "y"}, {"namespace": "z", "break": ""}]
    for spec, rule in zip(specs, rules, strict=True):
        [cause] = await refused(http, "POST", WIDGETS, widget(**spec))
        assert cause["message"] == f"Invalid value: failed rule: {rule}"
    await http.create(WIDGETS, widget(namespace="z"))


async def test_a_rule_about_changes_holds_when_there_is_a_change(http: Http) -> None:
    await define(http, of_spec({"rule": "self.size >= oldSelf.size", "message": "may not shrink"}))
    await http.create(WIDGETS, widget(size=2))
    [cause] = await refused(http, "PATCH", f"{WIDGETS}/w", {"spec": {"size": 1}}, MERGE)
    assert cause["message"] == "Invalid value: may not shrink"
    await http.merge(f"{WIDGETS}/w", {"spec": {"size": 3}})


async def test_a_rule_may_ask_whether_there_was_anything_before(http: Http) -> None:
    rule = {"rule": "oldSelf.hasValue() || self.size == 1", "optionalOldSelf": True, "message": "begins with 1"}
    await define(http, of_spec(rule))
    [cause] = await refused(http, "POST", WIDGETS, widget(size=2))
    assert cause["message"] == "Invalid value: begins with 1"
    await http.create(WIDGETS, widget(size=1))
    await http.merge(f"{WIDGETS}/w", {"spec": {"size": 2}})


async def test_items_of_a_list_are_compared_with_those_of_the_same_key(http: Http) -> None:
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "size": SIZE},
        "x-kubernetes-validations": [{"rule": "self.size >= oldSelf.size"}],
    }
    parts = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    await define(http, of_spec(parts=parts))
    await http.create(WIDGETS, widget(parts=[{"name": "a", "size": 2}, {"name": "b", "size": 2}]))
    changed = {"spec": {"parts": [{"name": "c", "size": 1}, {"name": "b", "size": 1}, {"name": "a", "size": 3}]}}
    causes = await refused(http, "PATCH", f"{WIDGETS}/w", changed, MERGE)
    assert [cause["field"] for cause in causes] == ["spec.parts[1]"]


async def test_what_was_wrong_before_and_has_not_changed_may_stay(http: Http) -> None:
    await define(http, of_spec(other=SIZE))
    await http.create(WIDGETS, widget(size=-1, other=1))
    stored = await http.get(f"{DEFINITIONS}/widgets.example.com")
    stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = of_spec(
        size={**SIZE, "minimum": 0, "x-kubernetes-validations": [{"rule": "self > -1"}]}, other=SIZE
    )
    assert (await http("PUT", f"{DEFINITIONS}/widgets.example.com", stored))[0] == 200
    await http.merge(f"{WIDGETS}/w", {"spec": {"other": 2}})
    causes = await refused(http, "PATCH", f"{WIDGETS}/w", {"spec": {"size": -2}}, MERGE)
    assert len(causes) == 2


async def test_rules_look_at_no_object_that_its_schema_finds_wanting(http: Http) -> None:
    schema = of_spec({"rule": "self.size < 3"})
    schema["properties"]["spec"]["required"] = ["size"]
    await define(http, schema)
    causes = await refused(http, "POST", WIDGETS, widget())
    text = (
        "Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )
    assert [cause["message"] for cause in causes] == ["Required value", text]


async def test_a_rule_that_comes_upon_something_says_what(http: Http) -> None:
    rows = {"type": "array", "items": SIZE}
    await define(http, of_spec({"rule": "self.rows[3] > 1"}, {"rule": "self.port + 1 > 1"}, rows=rows, port=EITHER))
    causes = await refused(http, "POST", WIDGETS, widget(rows=[1], port="a"))
    told = "call arguments did not match a supported operator, function or macro signature"
    assert [cause["message"] for cause in causes] == [
        'Invalid value: "object": index out of bounds: 3 evaluating rule: self.rows[3] > 1',
        f"Invalid value: \"object\": 'no such overload': {told} for rule: self.port + 1 > 1",
    ]


EITHER = {"x-kubernetes-int-or-string": True}


async def test_a_status_is_held_against_rules_as_well(http: Http) -> None:
    schema = {
        "type": "object",
        "properties": {
            "status": {
                "type": "object",
                "properties": {"ready": SIZE},
                "x-kubernetes-validations": [{"rule": "self.ready < 3"}],
            }
        },
    }
    await define(http, schema, subresources={"status": {}})
    await http.create(WIDGETS, widget())
    [cause] = await refused(http, "PATCH", f"{WIDGETS}/w/status", {"status": {"ready": 3}}, MERGE)
    assert cause["field"] == "status"


@pytest.mark.parametrize(
    ("rule", "field", "told"),
    [
        ({"rule": "self.nope > 1"}, "rule", "compilation failed: ERROR: <input>:1:5: undefined field 'nope'"),
        ({"rule": "self.size"}, "rule", "cel expression must evaluate to a bool"),
        ({"rule": "true", "messageExpression": "1"}, "messageExpression", "must evaluate to a string"),
        ({"rule": "true", "fieldPath": ".nope"}, "fieldPath", "must be a valid path"),
        ({"rule": "true", "reason": "Why"}, "reason", 'Unsupported value: "Why": supported values: '),
        ({"rule": " "}, "rule", "Required value: rule is not specified"),
        ({"rule": "true", "optionalOldSelf": True}, "optionalOldSelf", "may not be set if oldSelf is not used in rule"),
        ({"rule": "true &&\ntrue"}, "message", "message must be specified if rule contains line breaks"),
    ],
)
async def test_a_definition_with_a_rule_that_cannot_work_is_refused(
    http: Http, rule: dict[str, Any], field: str, told: str
) -> None:
    [cause] = await refused(http, "POST", DEFINITIONS, definition(of_spec(rule)))
    where = f"spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].{field}"
    assert cause["field"] == where
    assert told in cause["message"]


async def test_a_rule_that_does_not_compile_is_shown_whole(http: Http) -> None:
    [cause] = await refused(http, "POST", DEFINITIONS, definition(of_spec({"rule": "self.nope > 1"})))
    assert cause["message"].startswith(
        'Invalid value: {"Rule":"self.nope \\u003e 1","Message":"","MessageExpression":"","Reason":null,'
        '"FieldPath":"","OptionalOldSelf":null}: compilation failed: '
    )


async def test_a_rule_about_changes_is_refused_where_nothing_can_be_found_again(http: Http) -> None:
    rows = {"type": "array", "items": {**SIZE, "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}}
    [cause] = await refused(http, "POST", DEFINITIONS, definition(of_spec(rows=rows)))
    path = "spec.validation.openAPIV3Schema.properties[spec].properties[rows]"
    text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {path}"
    assert cause["message"] == f'Invalid value: "self \\u003e= oldSelf": {text}'.replace("\\u003e", ">")


async def test_without_the_extra_a_definition_with_rules_is_refused_by_its_name(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinformer.envtest.custom.schemas.is_available", lambda: False)
    [cause] = await refused(http, "POST", DEFINITIONS, definition(of_spec({"rule": "self.size < 3"})))
    text = "expressions need the packages of the extra `cel`: pip install 'kinformer[cel]'"
    assert cause["message"] == f"Forbidden: {text}"
    await http.create(DEFINITIONS, definition(of_spec()))
