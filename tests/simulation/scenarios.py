"""Small scenarios that several tests of the simulator run."""

from __future__ import annotations

from typing import Any

from kinformer.models import V1Pod, V1ReplicationController
from kinformer.simulation import World

__all__ = ("one_pod", "replication_controller", "up_and_down")


def replication_controller(replicas: int) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    }
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"app": "web"}, "template": template},
    }


async def up_and_down(world: World) -> None:
    """Three pods come, and go."""
    world.manager("replicationcontroller")
    await world.apply(replication_controller(3))
    await world.settled()
    assert len(await world.list(V1Pod)) == 3
    await world.patch(V1ReplicationController, "web", {"spec": {"replicas": 0}})
    await world.settled()
    assert not await world.list(V1Pod)


async def one_pod(world: World) -> None:
    """The smallest world with a controller that writes."""
    world.manager("replicationcontroller")
    await world.apply(replication_controller(1))
    await world.settled()
