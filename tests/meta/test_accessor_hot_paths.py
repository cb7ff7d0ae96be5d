"""Names and versions, read the fast way where objects are as their types say, and the safe way where they are not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kinformer.meta import accessor_for
from kinformer.models import V1Pod, from_dict

FULL = {"metadata": {"name": "n", "namespace": "ns", "resourceVersion": "7"}}
NAMELESS: dict[str, Any] = {"metadata": {"namespace": "ns"}}


class CamelMeta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str | None = None
    resource_version: str = ""


class OddMeta(msgspec.Struct):
    """One whose attributes are not called like the fields."""

    name: str = msgspec.field(name="displayName", default="not the name")
    title: str = msgspec.field(name="name", default="")
    home: str = msgspec.field(name="namespace", default="")
    version: str = msgspec.field(name="resourceVersion", default="")


class NameOnlyMeta(msgspec.Struct):
    name: str = ""


class Camel(msgspec.Struct):
    metadata: CamelMeta


class Optional(msgspec.Struct):
    about: CamelMeta | None = msgspec.field(name="metadata", default=None)


class Odd(msgspec.Struct):
    metadata: OddMeta


class NameOnly(msgspec.Struct):
    metadata: NameOnlyMeta


class Untyped(msgspec.Struct):
    metadata: Any


class Dicts(msgspec.Struct):
    metadata: dict[str, Any]


class Unresolvable(msgspec.Struct):
    metadata: NotThere  # type: ignore[name-defined]  # noqa: F821  # that is what this is about


def made(type_: Any, value: Any) -> Any:
    if type_ is dict:
        return value
    return from_dict(type_, value) if type_ is V1Pod else msgspec.convert(value, type_)


@pytest.mark.parametrize("type_", [dict, V1Pod, Camel, Optional, Odd, Untyped, Dicts])
def test_key_name_namespace_and_version_are_read_from_every_type(type_: Any) -> None:
    accessor, obj = accessor_for(type_), made(type_, FULL)

    assert accessor.key(obj) == "ns/n"
    assert (accessor.namespace(obj), accessor.name(obj), accessor.resource_version(obj)) == ("ns", "n", "7")


@pytest.mark.parametrize("type_", [dict, V1Pod, Camel, Optional, Odd, Untyped, Dicts])
def test_versions_are_equal_also_if_both_are_missing(type_: Any) -> None:
    same = accessor_for(type_).same_version
    eight = {"metadata": {**FULL["metadata"], "resourceVersion": "8"}}

    assert same(made(type_, FULL), made(type_, FULL))
    assert not same(made(type_, FULL), made(type_, eight))
    assert not same(made(type_, FULL), made(type_, NAMELESS))
    assert same(made(type_, NAMELESS), made(type_, NAMELESS))


@pytest.mark.parametrize("type_", [dict, V1Pod, Optional])
def test_objects_without_metadata_have_the_same_version(type_: Any) -> None:
    accessor = accessor_for(type_)

    assert accessor.same_version(made(type_, {}), made(type_, {}))
    assert not accessor.same_version(made(type_, FULL), made(type_, {}))


@pytest.mark.parametrize("type_", [dict, V1Pod, Camel, Odd, NameOnly, Dicts])
def test_without_a_namespace_the_key_is_the_name(type_: Any) -> None:
    assert accessor_for(type_).key(made(type_, {"metadata": {"name": "n"}})) == "n"


@pytest.mark.parametrize("type_", [dict, V1Pod, Camel, Dicts])
def test_without_a_name_there_is_none_in_the_key(type_: Any) -> None:
    assert accessor_for(type_).key(made(type_, NAMELESS)) == "ns/"


@pytest.mark.parametrize("type_", [dict, V1Pod, Optional])
def test_an_object_without_metadata_has_no_name_and_no_version(type_: Any) -> None:
    accessor, obj = accessor_for(type_), made(type_, {})

    assert (accessor.key(obj), accessor.namespace(obj), accessor.name(obj)) == ("", "", "")
    assert accessor.resource_version(obj) == ""


def test_a_field_that_the_type_does_not_have_is_empty() -> None:
    obj = made(NameOnly, FULL)

    assert (accessor_for(NameOnly).namespace(obj), accessor_for(NameOnly).resource_version(obj)) == ("", "")


def test_metadata_may_be_something_else_than_was_declared() -> None:
    obj = Camel(FULL["metadata"])  # type: ignore[arg-type]  # nobody checks at run time

    assert accessor_for(Camel).key(obj) == "ns/n"
    assert accessor_for(Camel).resource_version(obj) == "7"


def test_an_annotation_that_cannot_be_resolved_costs_only_time() -> None:
    assert accessor_for(Unresolvable).key(Unresolvable(CamelMeta("n", "ns"))) == "ns/n"
