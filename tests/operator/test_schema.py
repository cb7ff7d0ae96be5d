from __future__ import annotations

import enum
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest
from msgspec import Meta

from kinformer.models import V1Condition, V1PodFailurePolicy, V1ResourceRequirements
from kinformer.operator import (
    Fields,
    SchemaError,
    atomic,
    immutable,
    list_map,
    list_set,
    preserve_unknown_fields,
    rule,
    schema_of,
)


class Size(enum.Enum):
    """How large it is."""

    SMALL = "small"


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Port(Fields):
    """Where it listens."""

    name: str
    number: Annotated[int, Meta(ge=1, le=65535)]


def of(type_: Any) -> dict[str, Any]:
    return schema_of(type_, "spec.field")


@pytest.mark.parametrize(
    ("type_", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer", "format": "int64"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (bytes, {"type": "string", "format": "byte"}),
        (str | None, {"type": "string"}),
        (
            int | str,
            {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
        ),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Size, {"type": "string", "enum": ["small"], "description": "How large it is."}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
    ],
    ids=str,
)
def test_a_plain_type_has_its_schema(type_: Any, schema: dict[str, Any]) -> None:
    assert of(type_) == schema


@pytest.mark.parametrize(
    ("type_", "more"),
    [
        (Annotated[int, Meta(ge=0, le=9)], {"minimum": 0, "maximum": 9}),
        (
            Annotated[float, Meta(gt=0, lt=1)],
            {"minimum": 0, "exclusiveMinimum": True, "maximum": 1, "exclusiveMaximum": True},
        ),
        (Annotated[int, Meta(multiple_of=5)], {"multipleOf": 5}),
        (
            Annotated[str, Meta(min_length=1, max_length=9, pattern="^a")],
            {"minLength": 1, "maxLength": 9, "pattern": "^a"},
        ),
        (Annotated[list[str], Meta(min_length=1, max_length=3)], {"minItems": 1, "maxItems": 3}),
        (Annotated[dict[str, str], Meta(max_length=3)], {"maxProperties": 3}),
        (Annotated[str, Meta(description="A word.")], {"description": "A word."}),
        (Annotated[list[str], list_set()], {"x-kubernetes-list-type": "set"}),
        (Annotated[list[str], atomic()], {"x-kubernetes-list-type": "atomic"}),
        (Annotated[dict[str, str], atomic()], {"x-kubernetes-map-type": "atomic"}),
        (
            Annotated[list[Port], list_map("name")],
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
        (Annotated[Port, preserve_unknown_fields()], {"x-kubernetes-preserve-unknown-fields": True}),
        (
            Annotated[str, immutable(), rule("self != ''", "is empty", reason="FieldValueRequired")],
            {
                "x-kubernetes-validations": [
                    {"rule": "self == oldSelf", "message": "cannot be changed"},
                    {"rule": "self != ''", "message": "is empty", "reason": "FieldValueRequired"},
                ]
            },
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_an_annotation_adds_to_it(type_: Any, more: dict[str, Any]) -> None:
    assert of(type_).items() >= more.items()


def test_an_object_has_json_names_defaults_and_required_fields() -> None:
    class Spec(Fields):
        """What is wanted."""

        rules: ClassVar = (rule("self.minReplicas < 10", "too many"),)

        image_name: str
        min_replicas: int = 1
        colour: Colour = Colour.BLUE
        port: Port | None = None
        names: list[str] = []

    assert of(Spec) == {
        "description": "What is wanted.",
        "type": "object",
        "required": ["imageName"],
        "properties": {
            "imageName": {"type": "string"},
            "minReplicas": {"type": "integer", "format": "int64", "default": 1},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
            "port": {
                "description": "Where it listens.",
                "type": "object",
                "required": ["name", "number"],
                "properties": {
                    "name": {"type": "string"},
                    "number": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 65535},
                },
            },
            "names": {"type": "array", "items": {"type": "string"}},
        },
        "x-kubernetes-validations": [{"rule": "self.minReplicas < 10", "message": "too many"}],
    }


class Retention(Fields):
    days: int = 7
    copies: int = 3


def test_a_default_made_by_a_factory_is_in_the_schema() -> None:
    class Spec(Fields):
        plain: Retention = msgspec.field(default_factory=Retention)
        long: Retention = msgspec.field(default_factory=lambda: Retention(days=365))
        tags: list[str] = []

    properties = schema_of(Spec)["properties"]

    assert properties["plain"]["default"] == {}
    assert properties["plain"]["properties"]["days"]["default"] == 7
    assert properties["long"]["default"] == {"days": 365}
    assert "default" not in properties["tags"]


def test_a_default_that_changes_with_each_call_is_refused() -> None:
    class Spec(Fields):
        made_at: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))

    with pytest.raises(SchemaError, match=r"spec\.madeAt: its default is another one each time"):
        schema_of(Spec, "spec")


def test_a_default_that_is_no_json_is_refused_with_its_path() -> None:
    class Spec(Fields):
        bound: Any = 1 + 2j

    with pytest.raises(SchemaError, match=r"^spec\.bound: the default \(1\+2j\) cannot be written as JSON"):
        schema_of(Spec, "spec")


def test_a_status_has_no_defaults() -> None:
    class Status(Fields):
        ready: int = 3

    assert "default" not in schema_of(Status, "status", defaults=False)["properties"]["ready"]


def test_models_may_be_parts() -> None:
    condition = of(V1Condition)
    assert condition["required"] == ["lastTransitionTime", "message", "reason", "status", "type"]
    assert (condition["properties"]["reason"]["minLength"], condition["properties"]["reason"]["maxLength"]) == (1, 1024)
    assert condition["properties"]["lastTransitionTime"] == {"type": "string", "format": "date-time"}

    resources = of(V1ResourceRequirements)["properties"]
    assert resources["limits"]["additionalProperties"] == {"x-kubernetes-int-or-string": True}


def test_a_type_that_holds_itself_keeps_what_is_within() -> None:
    assert of(Tree)["properties"]["branches"]["items"] == {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }


class Tree(Fields):
    branches: list[Tree] = []


class Odd(Fields):
    either: list[str] | int


@pytest.mark.parametrize(
    ("type_", "said"),
    [
        (Odd, r"spec\.field\.either: list \| int: want one type, perhaps with None, or int \| str"),
        (list[dict[int, str]], r"spec\.field\[\]: a dict's keys are int: want str"),
        (tuple[int, str], r"spec\.field: tuple cannot be expressed in a definition"),
        (list[frozenset[str]], r"spec\.field\[\]: frozenset cannot be expressed in a definition"),
    ],
    ids=["a union", "keys", "a tuple", "a set"],
)
def test_a_type_without_a_form_is_an_error_that_names_the_path(type_: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        of(type_)


def test_a_rule_of_a_class_that_is_none_is_an_error() -> None:
    class Spec(Fields):
        rules: ClassVar = ("self.a < 3",)

    with pytest.raises(SchemaError, match=r"its rules have .*'self.a < 3'.*: want rule"):
        of(Spec)


def test_a_field_called_rules_is_a_field() -> None:
    class Firewall(Fields):
        rules: list[str] = []

    assert of(Firewall)["properties"] == {"rules": {"type": "array", "items": {"type": "string"}}}
    policy = of(V1PodFailurePolicy)  # in the template of each Job
    assert policy["properties"]["rules"]["type"] == "array"


def test_a_list_map_without_keys_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"list_map\(\) has no keys"):
        list_map()


def test_struct_that_is_no_fields_class_will_do() -> None:
    class Plain(msgspec.Struct):
        a: int

    assert of(Plain)["required"] == ["a"]
