"""Classes for a definition that somebody else wrote, and the same definition back from the classes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import yaml

from kinformer.models import decode, encode, resource_for, to_dict
from kinformer.operator import definition_of
from kinformer.operator.source import NoDefinition, source_of

DEFINITION = Path(__file__).parent / "bakery.yaml"


@pytest.fixture(scope="module")
def wanted() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(DEFINITION.read_text())
    return found


@pytest.fixture(scope="module")
def bakery(wanted: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module that is made from the definition."""
    file = tmp_path_factory.mktemp("made") / "bakery.py"
    file.write_text(source_of(wanted))
    spec = importlib.util.spec_from_file_location("bakery", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bakery"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["bakery"]


def test_the_classes_of_a_definition_make_the_same_definition(wanted: dict[str, Any], bakery: ModuleType) -> None:
    made = to_dict(definition_of(*(getattr(bakery, name) for name in bakery.__all__)))

    assert made == wanted


def test_the_classes_are_typed_as_their_schemas_say(bakery: ModuleType) -> None:
    oven = {"name": "left", "port": "http", "maxTemp": 300, "podIP": "::1", "from": "cellar"}
    spec = {"flour": "rye", "ovens": [oven], "notes": {"x": [1]}}
    obj = {"apiVersion": "example.com/v1", "kind": "Bakery", "metadata": {"name": "b"}, "spec": spec}

    bakery_ = decode(bakery.Bakery, msgspec.json.encode(obj))

    (left,) = bakery_.spec.ovens
    assert (left.port, left.max_temp, left.pod_ip, left.from_, left.loaves) == ("http", 300, "::1", "cellar", 12)
    assert bakery_.spec.retention == bakery.Retention(days=7)
    assert msgspec.json.decode(encode(bakery_)) == {**obj, "spec": {**spec, "retention": {}}}
    assert resource_for(bakery.BakeryV1Alpha1).kind == "Bakery"
    with pytest.raises(ValueError, match="flour"):
        decode(bakery.Bakery, msgspec.json.encode({**obj, "spec": {"flour": "sand"}}))


def test_objects_with_one_schema_share_a_class(wanted: dict[str, Any]) -> None:
    text = source_of(wanted)

    assert text.count("class Oven") == 1
    assert text.count("Annotated[OvensItem, Meta(description=") == 1


def plain_source(spec: dict[str, Any]) -> str:
    """The module for a definition whose spec has these properties."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    version = {"name": "v1", "storage": True, "served": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Plain", "plural": "plains"}
    definition = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    return source_of({"kind": "CustomResourceDefinition", "spec": definition})


def test_limits_of_integers_may_be_written_with_a_point() -> None:
    size = {"type": "integer", "format": "int64", "minimum": 1.0, "maximum": 9.0}

    assert "size: Annotated[int, Meta(ge=1, le=9)]" in plain_source({"size": size})


@pytest.mark.parametrize(
    ("spec", "imports"),
    [
        ({}, ["from typing import Annotated, Any"]),
        ({"at": {"type": "string", "format": "date-time"}}, ["from datetime import datetime"]),
        ({"size": {"type": "string", "enum": ["s", "m"]}}, ["from typing import Literal"]),
    ],
    ids=["nothing", "a time", "words"],
)
def test_a_module_imports_what_its_classes_use(spec: dict[str, Any], imports: list[str]) -> None:
    lines = plain_source(spec).splitlines()

    assert [line for line in lines if line.startswith(("from datetime", "from typing"))] == imports


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "Pod"}, "this is a Pod: want a CustomResourceDefinition"),
        (
            {
                "kind": "CustomResourceDefinition",
                "spec": {
                    "group": "example.com",
                    "names": {"kind": "Old", "plural": "olds"},
                    "versions": [{"name": "v1", "storage": True}],
                },
            },
            r"olds\.example\.com has no schema for v1",
        ),
    ],
    ids=["another kind", "no schema"],
)
def test_what_has_no_schema_has_no_classes(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(NoDefinition, match=said):
        source_of(wrong)
