"""A node that is not ready goes if its instance is gone, and is tainted if that is shut down."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.manager import ControllerContext, ControllerDisabled
from kinformer.models import V1Node, from_dict
from kinformer_controllers.cloudnodelifecycle.controller import CloudNodeLifecycleController, make_controller
from kinformer_controllers.shared.cloud.loading import FakeCloud
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, FakeRecorder, conflict, forbidden, not_found

SHUTDOWN = {"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}


class World(Cluster):
    def __init__(self, *nodes: V1Node) -> None:
        super().__init__()
        self.cloud, self.recorder = FakeCloud(self.clock), FakeRecorder()
        self.nodes = CloudNodeLifecycleController(
            FakeContext(self.client, self.informers, self.recorder, clock=self.clock, node_monitor_period=3.0),
            self.cloud,
        )
        for each in nodes:
            self.put(each)

    async def sync(self) -> list[str]:
        """The writes."""
        assert await self.nodes.sync("nodes") == 3.0
        return [request for request in self.requests if not request.startswith("get")]


def node(name: str, ready: str | None = "False", *, shutdown: bool = False) -> V1Node:
    conditions = [{"type": "Ready", "status": ready}] if ready is not None else []
    spec = {"taints": [SHUTDOWN] if shutdown else None}
    return from_dict(V1Node, {"metadata": {"name": name}, "spec": spec, "status": {"conditions": conditions}})


@pytest.mark.parametrize("ready", ["False", "Unknown", None])
async def test_a_node_whose_instance_is_gone_is_deleted(ready: str | None) -> None:
    world = World(node("a-gone", ready))

    assert await world.sync() == ["delete Node a-gone"]

    assert world.sent[-1].preconditions.uid == "uid-a-gone"
    assert world.recorder.events == [
        "Normal DeletingNode a-gone: Deleting node a-gone because it does not exist in the cloud provider"
    ]


async def test_a_node_that_the_server_says_is_ready_stays() -> None:
    world = World(node("a-gone"))
    world.put_on_server(node("a-gone", "True"))

    assert await world.sync() == []
    assert not world.recorder.events


async def test_a_node_that_is_ready_is_not_even_asked_for() -> None:
    world = World(node("a-gone", "True"))

    assert await world.sync() == []
    assert not world.cloud.calls


async def test_a_node_whose_instance_is_there_stays() -> None:
    world = World(node("a"))

    assert await world.sync() == []
    assert world.cloud.calls == {"instance_exists": 1, "instance_shutdown": 1}


async def test_a_node_whose_instance_is_shut_down_is_tainted_once() -> None:
    first, again = World(node("a-off", "Unknown")), World(node("a-off", shutdown=True))

    assert await first.sync() == ["patch Node a-off"]
    assert first.sent[-1]["spec"]["taints"] == [SHUTDOWN]
    assert await again.sync() == []


async def test_the_taint_goes_when_the_node_is_ready_again() -> None:
    world = World(node("a", "True", shutdown=True))

    assert await world.sync() == ["patch Node a"]
    assert not world.sent[-1]["spec"].get("taints")


@pytest.mark.parametrize("method", ["instance_exists", "instance_shutdown"])
async def test_a_silent_cloud_changes_nothing_and_other_nodes_are_checked(method: str) -> None:
    world = World(node("a"), node("z-gone"))
    world.cloud.errors[method] = [OSError("down")]

    await world.sync()

    assert world.requests[-1:] == ([] if method == "instance_exists" else ["delete Node z-gone"]) or world.requests
    assert "delete Node a" not in world.requests
    await world.sync()
    assert "delete Node z-gone" in world.requests


@pytest.mark.parametrize("error", [not_found(), conflict()])
async def test_a_node_that_is_gone_or_was_made_anew_is_no_error(error: Exception) -> None:
    world = World(node("a-gone"))
    world.errors["delete Node"] = [error]

    await world.sync()

    assert len(world.recorder.events) == 1


async def test_a_node_that_cannot_be_deleted_is_told_of() -> None:
    world = World(node("a-gone"))
    world.errors["delete Node"] = [forbidden("not you")]

    await world.sync()

    assert world.recorder.events[-1].startswith("Warning DeletingNodeFailed a-gone: Failed deleting node a-gone:")


def test_without_a_cloud_it_does_not_run() -> None:
    world, options = Cluster(), dict[str, Any]()

    with pytest.raises(ControllerDisabled, match="--cloud-provider is not given"):
        make_controller(ControllerContext(world.client, world.informers, options))
