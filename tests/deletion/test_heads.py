"""Heads: the same of an object, whatever it is made of."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kinformer.deletion.graph import Phase
from kinformer.deletion.heads import Head, Reference, compact, head_reader, shows_heads
from kinformer.models import PartialObjectMetadata, V1Pod

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "o", "controller": True}
META: dict[str, Any] = {"name": "web-1", "namespace": "ns", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}


class NameOnly(msgspec.Struct):
    name: str


class Nameless(msgspec.Struct):
    metadata: NameOnly


def read(type_: type[Any], **more: Any) -> Any:
    obj = msgspec.json.decode(msgspec.json.encode({"metadata": {**META, **more}}), type=type_)
    return head_reader(type_)(obj)


@pytest.mark.parametrize("type_", [Head, PartialObjectMetadata, V1Pod, dict])
def test_an_objects_head_is_the_same_for_every_type(type_: type[Any]) -> None:
    seen = read(type_, ownerReferences=[{**OWNER, "blockOwnerDeletion": True}])

    assert seen[:3] == ("ns", "web-1", "u")
    (owner,) = seen.owners
    assert (owner.api_version, owner.kind, owner.name, owner.uid) == ("apps/v1", "ReplicaSet", "web", "o")
    assert owner.block_owner_deletion is True
    assert seen.phase is Phase.LIVING


@pytest.mark.parametrize("type_", [Head, V1Pod, dict])
@pytest.mark.parametrize(
    ("finalizers", "phase"),
    [
        (None, Phase.LEAVING),
        (["example.com/f"], Phase.LEAVING),
        (["example.com/f", "foregroundDeletion"], Phase.WAITING),
        (["orphan"], Phase.ORPHANING),
        (["foregroundDeletion", "orphan"], Phase.ORPHANING),
    ],
)
def test_where_an_object_is_on_its_way_is_said_by_its_finalizers(
    type_: type[Any], finalizers: list[str] | None, phase: Phase
) -> None:
    more = {} if finalizers is None else {"finalizers": finalizers}
    assert read(type_, deletionTimestamp="2026-01-01T00:00:00Z", **more).phase is phase
    assert read(type_, **more).phase is Phase.LIVING


def test_a_type_that_leaves_out_owners_shows_no_heads() -> None:
    assert not shows_heads(Nameless)
    with pytest.raises(TypeError, match="Nameless lacks some of the metadata fields"):
        head_reader(Nameless)


def test_what_recurs_from_object_to_object_is_held_once() -> None:
    data = msgspec.json.encode({"metadata": {**META, "ownerReferences": [OWNER]}})
    one, other = (compact(msgspec.json.decode(data, type=Head)).metadata for _ in range(2))

    assert one.namespace is other.namespace
    assert one.owner_references
    assert other.owner_references
    for field in ("api_version", "kind", "name", "uid"):
        assert getattr(one.owner_references[0], field) is getattr(other.owner_references[0], field)


def test_a_reference_is_written_as_it_was_read() -> None:
    for reference in (OWNER, {**OWNER, "controller": False, "blockOwnerDeletion": True}):
        assert msgspec.to_builtins(msgspec.convert(reference, Reference)) == reference
