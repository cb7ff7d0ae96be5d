"""What is tried with the fields of a kind: values from its schema, and what the server says it supports."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.simulation.schema import Change, Subject, try_fields
from kinformer.simulation.schema.changes import ABSENT
from kinformer.simulation.schema.values import Schemas, fields_of
from tests.simulation.scenarios import replication_controller

SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1.0, "maximum": 65535},
        "mode": {"enum": ["A", "B", "C"], "type": "string"},
        "on": {"type": "boolean"},
        "hosts": {"type": "array", "items": {"type": "string"}},
        "surge": {"x-kubernetes-int-or-string": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "old": {"type": "integer", "description": "How many.\n\nDeprecated: use size."},
        "auth": {"type": "object", "required": ["user"], "properties": {"user": {"type": "string"}}},
    },
}
KIND = {"properties": {"spec": SPEC}, "x-kubernetes-group-version-kind": [{"kind": "Thing"}]}


def values(spec: dict[str, Any], field: str) -> list[Any]:
    """The first value of each group."""
    schemas = Schemas({"components": {"schemas": {"Thing": KIND}}})
    found = next(fields_of(schemas, schemas.of_kind("Thing"), {"spec": spec}, [("spec", field)]))
    return [group[0] for group in found.groups]


@pytest.mark.parametrize(
    ("spec", "field", "want"),
    [
        ({"size": 3}, "size", [4, 1]),
        ({"mode": "B"}, "mode", ["A", "C", ABSENT]),
        ({"on": True}, "on", [False, ABSENT]),
        ({}, "on", [True, False]),
        ({"hosts": ["h1", "h2"]}, "hosts", [["h1", "h2", "h3"], ["h1"], ["h2", "h1"], ABSENT]),
        ({"surge": 1}, "surge", [2, 0, "100%", ABSENT]),
        ({"labels": {"a": "x"}}, "labels", [{"a": "x", "aa": "a"}, {}, ABSENT]),
        ({}, "auth", [{"user": "a"}]),
    ],
)
def test_a_field_gets_values_by_its_type_and_value(spec: dict[str, Any], field: str, want: list[Any]) -> None:
    assert values(spec, field) == want


def test_a_field_is_marked_as_without_effect_by_its_description() -> None:
    schemas = Schemas({"components": {"schemas": {"Thing": KIND}}})
    marked = [each.path[-1] for each in fields_of(schemas, KIND, {"spec": {}}) if each.is_marked]

    assert marked == ["old"]


def test_built_in_kinds_get_what_the_server_wants_and_supports() -> None:
    pod = "spec.template.spec"
    fields = [f"{pod}.containers.0.imagePullPolicy", f"{pod}.containers.0.env", f"{pod}.dnsPolicy"]

    report = try_fields(Subject(lambda world: None, [replication_controller(1)], fields))

    tried = {field: [change.value for change in changes] for field, changes in report.tried.items()}
    assert tried[f"{pod}.containers.0.imagePullPolicy"] == ["IfNotPresent", "Never"]
    assert tried[f"{pod}.containers.0.env"][0] == [{"name": "a"}]
    assert tried[f"{pod}.dnsPolicy"] == ["ClusterFirstWithHostNet", "Default"], "None needs a dnsConfig"


def test_a_change_is_one_line_that_can_be_read() -> None:
    lines = ['metadata.annotations[example.com/a]="b"', "spec.ports.0.port=81", "spec.paused=", 'spec.list=["a=b"]']

    assert [str(Change.parse(line)) for line in lines] == lines
    assert Change.parse("spec.ports.0.port=81").of({"spec": {"ports": [{"port": 80}]}})["spec"] == {
        "ports": [{"port": 81}]
    }
