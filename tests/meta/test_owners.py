from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kinformer.meta.names import GroupKind, GroupVersionKind
from kinformer.meta.owners import (
    OwnerRef,
    get_controller_of,
    is_controlled_by,
    new_controller_ref,
    owner_ref,
)
from kinformer.models import V1ObjectMeta, V1OwnerReference, V1Pod, to_dict


class Reference(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None


class Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str | None = None
    owner_references: list[Reference] | None = None


class Thing(msgspec.Struct):
    metadata: Meta


OWNERS = [
    {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u0"},
    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u1", "controller": True},
]
OWNED = [
    {"metadata": {"name": "p", "ownerReferences": OWNERS}},
    msgspec.convert({"metadata": {"name": "p", "ownerReferences": OWNERS}}, Thing),
]
FREE = [{"metadata": {"name": "p"}}, {}, Thing(Meta("p")), {"metadata": {"ownerReferences": OWNERS[:1]}}]


@pytest.mark.parametrize("obj", OWNED)
def test_the_controller_is_the_owner_that_says_so(obj: Any) -> None:
    controller = get_controller_of(obj)

    assert controller == OwnerRef("apps/v1", "ReplicaSet", "rs", "u1", controller=True)
    assert controller.group_kind == GroupKind("apps", "ReplicaSet")
    assert is_controlled_by(obj, "u1")
    assert not is_controlled_by(obj, "u0")


@pytest.mark.parametrize("obj", FREE)
def test_an_object_may_have_no_controller(obj: Any) -> None:
    assert get_controller_of(obj) is None
    assert not is_controlled_by(obj, "u0")
    assert not is_controlled_by(obj, "")


@pytest.mark.parametrize("owner", [{"metadata": {"name": "rc", "uid": "u2"}}, Thing(Meta("rc", "u2"))])
def test_a_new_reference_controls_and_blocks(owner: Any) -> None:
    reference = new_controller_ref(owner, GroupVersionKind("", "v1", "ReplicationController"))

    assert isinstance(reference, V1OwnerReference)
    in_json = {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "name": "rc",
        "uid": "u2",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert to_dict(reference) == in_json
    for owned in (
        {"metadata": {"ownerReferences": [reference]}},
        V1Pod(metadata=V1ObjectMeta(owner_references=[reference])),
    ):
        assert to_dict(owned) == {"metadata": {"ownerReferences": [in_json]}}
        assert is_controlled_by(owned, "u2")


def test_a_reference_that_was_read_is_written_as_the_api_has_it() -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u", "blockOwnerDeletion": True}

    assert to_dict({"ownerReferences": [owner_ref(reference)]}) == {"ownerReferences": [reference]}
    assert hash(owner_ref(reference)) == hash(owner_ref(reference))


def test_a_reference_says_only_what_it_is() -> None:
    assert "controller" not in OwnerRef("v1", "ConfigMap", "c", "u").to_dict()
