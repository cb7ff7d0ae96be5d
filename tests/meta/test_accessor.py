from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kinformer.meta.accessor import accessor_for, accessor_of, meta_namespace_key
from kinformer.meta.names import ObjectName


class Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str | None = None
    resource_version: str | None = None
    labels: dict[str, str] | None = None


class Thing(msgspec.Struct):
    metadata: Meta | None = None


class Loose(msgspec.Struct):
    metadata: dict[str, Any]


RAW = {"metadata": {"name": "a", "namespace": "ns", "resourceVersion": "7", "labels": {"x": "y"}}}
OBJECTS = [RAW, msgspec.convert(RAW, Thing), msgspec.convert(RAW, Loose)]


@pytest.mark.parametrize("obj", OBJECTS, ids=["dict", "struct", "struct with a dict"])
def test_metadata_reads_the_same_whatever_the_object_is_made_of(obj: Any) -> None:
    accessor = accessor_of(obj)

    assert accessor.key(obj) == meta_namespace_key(obj) == "ns/a"
    assert (accessor.namespace(obj), accessor.name(obj)) == accessor.object_name(obj) == ObjectName("ns", "a")
    assert accessor.resource_version(obj) == "7"
    assert accessor.labels(obj) == {"x": "y"}


@pytest.mark.parametrize("obj", [{"metadata": {"name": "a"}}, Thing(Meta("a")), Loose({"name": "a"})])
def test_what_is_left_out_is_empty(obj: Any) -> None:
    accessor = accessor_of(obj)

    assert accessor.key(obj) == "a"
    assert accessor.namespace(obj) == accessor.resource_version(obj) == accessor.uid(obj) == ""
    assert accessor.generation(obj) == 0
    assert dict(accessor.labels(obj)) == dict(accessor.annotations(obj)) == {}
    assert list(accessor.finalizers(obj)) == list(accessor.owner_references(obj)) == []
    assert not accessor.is_being_deleted(obj)


def test_an_object_on_its_way_out_says_so() -> None:
    obj = {"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}}

    assert accessor_of(obj).is_being_deleted(obj)


@pytest.mark.parametrize("obj", OBJECTS)
def test_a_copy_shares_nothing(obj: Any) -> None:
    copied = accessor_of(obj).copy(obj)

    assert copied == obj
    assert accessor_of(copied).labels(copied) is not accessor_of(obj).labels(obj)


def test_there_is_one_accessor_a_type() -> None:
    assert accessor_for(Thing) is accessor_for(Thing)
    assert accessor_for(Thing).type is Thing


@pytest.mark.parametrize("type_", [int, Meta])
def test_a_type_without_metadata_is_an_error_that_names_it(type_: type) -> None:
    with pytest.raises(TypeError, match=f"{type_.__name__} has no metadata"):
        accessor_for(type_)
