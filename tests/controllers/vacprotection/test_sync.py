"""A VolumeAttributesClass that is being deleted stays while a claim or a volume uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.manager import ControllerContext
from kinformer.models import V1PersistentVolume, V1PersistentVolumeClaim, V1VolumeAttributesClass, from_dict
from kinformer_controllers.vacprotection.controller import FINALIZER, ClassProtection
from tests.controllers.cluster import Cluster as FakeCluster
from tests.controllers.nodes import Cluster, cluster

SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "csi": {"driver": "d", "volumeHandle": "h"},
    "volumeAttributesClassName": "gold",
}
CHANGING = {"modifyVolumeStatus": {"status": "InProgress", "targetVolumeAttributesClassName": "gold"}}


@asynccontextmanager
async def with_controller() -> AsyncIterator[Cluster]:
    async with cluster({"volumeattributesclass-protection-controller": ClassProtection}) as world:
        gold = {
            "metadata": {"name": "gold", "finalizers": ["example.com/mine"]},
            "driverName": "d",
            "parameters": {"a": "b"},
        }
        await world.client.resource(V1VolumeAttributesClass).create(from_dict(V1VolumeAttributesClass, gold))
        await world.turn(1)
        yield world


async def finalizers(world: Cluster) -> list[str]:
    found = await world.client.resource(V1VolumeAttributesClass).get("gold")
    return found.metadata.finalizers or []


async def make(world: Cluster, type_: type[Any], spec: dict[str, Any], status: dict[str, Any] | None = None) -> None:
    resource = world.client.resource(type_)
    await resource.create(from_dict(type_, {"metadata": {"name": "it", "namespace": namespace(type_)}, "spec": spec}))
    if status is not None:
        await resource.patch("it", {"status": status}, namespace(type_), subresource="status")


def namespace(type_: type[Any]) -> str:
    return "default" if type_ is V1PersistentVolumeClaim else ""


USERS = pytest.mark.parametrize(
    ("type_", "spec", "status"),
    [
        pytest.param(V1PersistentVolumeClaim, SPEC | {"volumeAttributesClassName": "gold"}, None, id="asked for"),
        pytest.param(V1PersistentVolumeClaim, SPEC, {"currentVolumeAttributesClassName": "gold"}, id="in use"),
        pytest.param(V1PersistentVolumeClaim, SPEC, CHANGING, id="changing to it"),
        pytest.param(V1PersistentVolume, VOLUME, None, id="a volume"),
    ],
)


@USERS
async def test_a_class_in_use_stays_until_the_user_is_gone(
    type_: type[Any], spec: dict[str, Any], status: dict[str, Any] | None
) -> None:
    async with with_controller() as world:
        assert await finalizers(world) == ["example.com/mine", FINALIZER]
        await make(world, type_, spec, status)
        await world.turn(1)
        await world.client.resource(V1VolumeAttributesClass).delete("gold")
        await world.turn(1)
        assert FINALIZER in await finalizers(world)

        users = world.client.resource(type_)
        await users.delete("it", namespace(type_))
        await users.patch("it", {"metadata": {"finalizers": None}}, namespace(type_))
        await world.turn(1)
        assert await finalizers(world) == ["example.com/mine"]


@USERS
async def test_a_user_that_only_the_server_knows_keeps_the_class(
    type_: type[Any], spec: dict[str, Any], status: dict[str, Any] | None
) -> None:
    world = FakeCluster()
    protection = ClassProtection(ControllerContext(world.client, world.informers))
    metadata = {"name": "gold", "finalizers": [FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    world.put(from_dict(V1VolumeAttributesClass, {"metadata": metadata, "driverName": "d"}))
    about = {"name": "it", "namespace": namespace(type_)}
    user = from_dict(type_, {"metadata": about, "spec": spec, "status": status or {}})
    world.put_on_server(user)

    await protection.sync("gold")
    assert "update VolumeAttributesClass gold" not in world.requests

    world.forget(type_, "default/it" if about["namespace"] else "it")
    await protection.sync("gold")
    assert world.requests[-1] == "update VolumeAttributesClass gold"


async def test_a_class_that_its_only_volume_has_left_goes() -> None:
    async with with_controller() as world:
        await make(world, V1PersistentVolume, VOLUME)
        await world.client.resource(V1VolumeAttributesClass).delete("gold")
        await world.turn(1)
        body = {"spec": {"volumeAttributesClassName": "silver"}}
        await world.client.resource(V1PersistentVolume).patch("it", body)
        await world.turn(1)

        assert await finalizers(world) == ["example.com/mine"]
