"""What a CustomResourceDefinition may look like."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.envtest.conftest import Http
from tests.envtest.custom.test_rules import DEFINITIONS, definition, refused

SCHEMA = "spec.validation.openAPIV3Schema"


@pytest.mark.parametrize(
    ("schema", "field", "told"),
    [
        ({}, f"{SCHEMA}.type", "Required value: must not be empty at the root"),
        ({"type": "string"}, f"{SCHEMA}.type", 'Invalid value: "string": must be object at the root'),
        (
            {"type": "object", "properties": {"a": {}}},
            f"{SCHEMA}.properties[a].type",
            "Required value: must not be empty for specified object fields",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "array"}}},
            f"{SCHEMA}.properties[a].items",
            "Required value: must be specified",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "strange"}}},
            f"{SCHEMA}.properties[a].type",
            'Unsupported value: "strange": supported values: "array", "boolean", "integer", ',
        ),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
            f"{SCHEMA}.properties[a].default",
            "must be of type integer",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
            f"{SCHEMA}.properties[a].pattern",
            "must be a valid regular expression, but isn't",
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
            },
            f"{SCHEMA}.properties[a].uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "object", "oneOf": [{"type": "string"}]}}},
            f"{SCHEMA}.properties[a].oneOf[0].type",
            "Forbidden: must be empty to be structural",
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}},
            },
            f"{SCHEMA}.properties[a].x-kubernetes-list-map-keys",
            "Required value: must not be empty if x-kubernetes-list-type is map",
        ),
    ],
)
async def test_a_schema_that_is_not_structural_is_refused(
    http: Http, schema: dict[str, Any], field: str, told: str
) -> None:
    causes = await refused(http, "POST", DEFINITIONS, definition(schema))
    assert field in {cause["field"] for cause in causes}
    assert any(told in cause["message"] for cause in causes)


async def test_a_definition_is_called_by_its_plural_and_its_group(http: Http) -> None:
    body = definition({"type": "object"})
    body["metadata"]["name"] = "gadgets.example.com"
    [cause] = await refused(http, "POST", DEFINITIONS, body)
    assert cause["message"] == 'Invalid value: "gadgets.example.com": must be spec.names.plural+"."+spec.group'


async def test_a_version_needs_a_schema(http: Http) -> None:
    body = definition({"type": "object"})
    del body["spec"]["versions"][0]["schema"]
    [cause] = await refused(http, "POST", DEFINITIONS, body)
    assert (cause["field"], cause["message"]) == ("spec.versions[0].schema.openAPIV3Schema", "Required value")


async def test_one_version_is_the_one_that_is_stored(http: Http) -> None:
    causes = await refused(http, "POST", DEFINITIONS, definition({"type": "object"}, storage=False))
    assert [cause["field"] for cause in causes] == ["spec.versions", "status.storedVersions"]
    assert causes[0]["message"].endswith(": must have exactly one version marked as storage version")
    assert causes[1]["message"] == "Invalid value: null: must have at least one stored version"


async def test_a_definition_in_a_group_of_kubernetes_needs_an_approval(http: Http) -> None:
    body = definition({"type": "object"})
    body["spec"]["group"] = "example.k8s.io"
    body["metadata"]["name"] = "widgets.example.k8s.io"
    [cause] = await refused(http, "POST", DEFINITIONS, body)
    assert cause["field"] == "metadata.annotations[api-approved.kubernetes.io]"
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    await http.create(DEFINITIONS, body)


async def test_names_and_scope_stay(http: Http) -> None:
    await http.create(DEFINITIONS, definition({"type": "object"}))
    stored = await http.get(f"{DEFINITIONS}/widgets.example.com")
    changed = copy.deepcopy(stored)
    changed["spec"]["scope"] = "Cluster"
    changed["spec"]["names"]["kind"] = "Gadget"
    causes = await refused(http, "PUT", f"{DEFINITIONS}/widgets.example.com", changed)
    assert [(cause["field"], cause["message"]) for cause in causes] == [
        ("spec.scope", 'Invalid value: "Cluster": field is immutable'),
        ("spec.names.kind", 'Invalid value: "Gadget": field is immutable'),
    ]


async def test_a_version_with_stored_objects_cannot_be_removed(http: Http) -> None:
    await http.create(DEFINITIONS, definition({"type": "object"}))
    stored = await http.get(f"{DEFINITIONS}/widgets.example.com")
    [first] = stored["spec"]["versions"]
    stored["spec"]["versions"] = [{**first, "name": "v2"}, {**first, "storage": False}]
    code, stored = await http("PUT", f"{DEFINITIONS}/widgets.example.com", stored)
    assert (code, stored["status"]["storedVersions"]) == (200, ["v1", "v2"])
    stored["spec"]["versions"].pop()
    [cause] = await refused(http, "PUT", f"{DEFINITIONS}/widgets.example.com", stored)
    assert cause["field"] == "status.storedVersions[0]"
    assert "v1 was previously a storage version, and must remain in spec.versions" in cause["message"]


async def test_names_are_those_of_who_came_first(http: Http) -> None:
    first, second = definition({"type": "object"}), definition({"type": "object"})
    second["metadata"]["name"] = "gadgets.example.com"
    second["spec"]["names"] = {"plural": "gadgets", "kind": "Widget", "singular": "gadget", "shortNames": ["widget"]}
    await http.create(DEFINITIONS, first)
    await http.create(DEFINITIONS, second)
    status = (await http.get(f"{DEFINITIONS}/gadgets.example.com"))["status"]
    assert status["acceptedNames"] == {"plural": "gadgets", "singular": "gadget", "kind": ""}
    assert [(one["type"], one["status"], one["reason"]) for one in status["conditions"]] == [
        ("NamesAccepted", "False", "ListKindConflict"),
        ("Established", "False", "NotAccepted"),
    ]
    assert status["conditions"][0]["message"] == '"WidgetList" is already in use'
    assert (await http("GET", "/apis/example.com/v1/gadgets"))[0] == 404
    await http("DELETE", f"{DEFINITIONS}/widgets.example.com")
    status = (await http.get(f"{DEFINITIONS}/gadgets.example.com"))["status"]
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert (await http("GET", "/apis/example.com/v1/gadgets"))[0] == 200
