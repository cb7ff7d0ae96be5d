"""A volume that is being deleted stays while it is bound."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V1PersistentVolume, from_dict
from kinformer_controllers.pvprotection.controller import FINALIZER, VolumeProtection
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, conflict, forbidden, not_found


class World(Cluster):
    def __init__(self) -> None:
        super().__init__()
        self.protection = VolumeProtection(FakeContext(self.client, self.informers, clock=self.clock))

    async def sync(self, phase: str = "Available", *, deleting: bool = False, protected: bool = True) -> list[str]:
        metadata: dict[str, Any] = {"name": "v", "uid": "uid-v"}
        if protected:
            metadata["finalizers"] = ["mine", FINALIZER]
        if deleting:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        volume = from_dict(V1PersistentVolume, {"metadata": metadata, "spec": {}, "status": {"phase": phase}})
        self.put(volume)
        await self.protection.sync("v")
        return self.requests


async def test_a_volume_gets_the_finalizer() -> None:
    world = World()

    assert await world.sync(protected=False) == ["update PersistentVolume v"]
    assert world.sent[0].metadata.finalizers == [FINALIZER]


@pytest.mark.parametrize(
    ("phase", "deleting", "protected"),
    [("Available", False, True), ("Bound", False, True), ("Bound", True, True), ("Available", True, False)],
)
async def test_a_protected_volume_and_a_bound_one_are_left(phase: str, deleting: bool, protected: bool) -> None:
    assert await World().sync(phase, deleting=deleting, protected=protected) == []


@pytest.mark.parametrize("phase", ["Available", "Released", "Failed", "Pending"])
async def test_a_volume_that_is_not_bound_loses_it_as_it_was_seen(phase: str) -> None:
    world = World()

    assert await world.sync(phase, deleting=True) == ["update PersistentVolume v"]
    assert world.sent[0].metadata.finalizers == ["mine"]
    assert world.sent[0].metadata.resource_version


@pytest.mark.parametrize("error", [forbidden(), conflict()])
async def test_what_the_server_refuses_is_tried_again(error: Exception) -> None:
    world = World()
    world.errors["update PersistentVolume"] = [error]

    with pytest.raises(type(error)):
        await world.sync(deleting=True)


async def test_a_volume_that_is_gone_is_no_error() -> None:
    world = World()
    world.errors["update PersistentVolume"] = [not_found()]

    await world.sync(deleting=True)
    await world.protection.sync("nobody")


def test_a_deletion_is_not_looked_at() -> None:
    assert not World().protection.needs_a_look(V1PersistentVolume(), None)
