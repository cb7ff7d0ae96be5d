"""The controller with a manager, against the embedded server on a turned clock."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.client import PatchType
from kinformer.manager import Manager
from kinformer.manager.checks import parts_of
from kinformer.models import V1Node, V1Pod
from kinformer_controllers.nodelifecycle.controller import NodeLifecycleController
from tests.controllers.nodes import Cluster, cluster

NOT_READY, UNREACHABLE = "not-ready:NoExecute", "unreachable:NoExecute"


@asynccontextmanager
async def with_lifecycle(**options: Any) -> AsyncIterator[Cluster]:
    async with cluster({"nodelifecycle": NodeLifecycleController}, options) as world:
        yield world


async def keep_alive(world: Cluster, *names: str, seconds: float) -> None:
    """Let time pass, these nodes renewing their Leases every ten seconds."""
    for _ in range(round(seconds / 10)):
        for name in names:
            await world.renew(name)
        await world.turn(10)


# NoSchedule taints and labels: at once, with each change of a node


async def test_a_new_node_loses_the_servers_taint_when_it_is_ready() -> None:
    async with with_lifecycle() as world:
        await world.make_node("n", None)
        await world.turn(1)
        assert await world.taints("n") == []  # nobody has said anything of it yet, so it is not said to be unready

        await world.report("n", "False")
        await world.turn(0)
        assert "not-ready:NoSchedule" in await world.taints("n")
        await world.report("n", "True")
        await world.turn(10)
        assert await world.taints("n") == []


@pytest.mark.parametrize(
    ("type_", "status", "want"),
    [
        ("Ready", "False", "not-ready"),
        ("Ready", "Unknown", "unreachable"),
        ("MemoryPressure", "True", "memory-pressure"),
        ("DiskPressure", "True", "disk-pressure"),
        ("PIDPressure", "True", "pid-pressure"),
        ("NetworkUnavailable", "True", "network-unavailable"),
        ("MemoryPressure", "Unknown", ""),
        ("Strange", "True", ""),
    ],
)
async def test_a_condition_keeps_new_pods_away_as_long_as_it_holds(type_: str, status: str, want: str) -> None:
    async with with_lifecycle(node_eviction_rate=0.0) as world:
        await world.make_node("other")
        await world.make_node("n")
        await world.turn(1)
        await world.report("n", status, type_)
        await world.turn(0)
        assert await world.taints("n") == ([f"{want}:NoSchedule"] if want else [])

        await world.report("n", "True" if type_ == "Ready" else "False", type_)
        await world.turn(0)
        assert await world.taints("n") == []


async def test_a_node_that_is_cordoned_gets_a_taint_and_other_taints_stay() -> None:
    async with with_lifecycle() as world:
        await world.make_node("n", taints=[{"key": "mine", "effect": "NoSchedule"}])
        nodes = world.client.resource(V1Node)
        await nodes.patch("n", {"spec": {"unschedulable": True}})
        await world.turn(1)
        assert await world.taints("n") == ["mine:NoSchedule", "unschedulable:NoSchedule"]

        await nodes.patch("n", {"spec": {"unschedulable": None}}, patch_type=PatchType.MERGE)
        await world.turn(1)
        assert await world.taints("n") == ["mine:NoSchedule"]


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        ({}, {}),
        (
            {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm"},
            {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm"},
        ),
        ({"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "plan9"}, {"beta.kubernetes.io/os": "linux"}),
        ({"beta.kubernetes.io/os": "plan9"}, {"beta.kubernetes.io/os": "plan9"}),
    ],
)
async def test_old_labels_follow_the_new_ones(labels: dict[str, str], want: dict[str, str]) -> None:
    async with with_lifecycle() as world:
        await world.make_node("n", labels=labels)
        await world.turn(1)

        there = (await world.client.resource(V1Node).get("n")).metadata.labels or {}
        assert {name: value for name, value in there.items() if name.startswith("beta.")} == want


async def test_taints_that_cannot_be_written_are_tried_again() -> None:
    async with with_lifecycle() as world:
        await world.make_node("other")
        await world.make_node("n")
        await world.turn(1)
        await world.client.resource(V1Node).patch("n", {"spec": {"unschedulable": True}})
        world.server.faults.refuse(
            500, times=4, matching=lambda call: call.verb == "patch" and call.resource == "nodes"
        )
        await world.turn(5)

        assert await world.taints("n") == ["unschedulable:NoSchedule"]
        assert world.server.faults.is_quiet


# Nodes that are silent


async def test_conditions_of_a_silent_node_that_are_new_come_last() -> None:
    async with with_lifecycle() as world:
        await world.make_node("silent", None)
        await world.report("silent", "False", "NetworkUnavailable")
        await world.report("silent", "True")

        await world.turn(60)

        assert list((await world.conditions("silent")).items()) == [
            ("Ready", "Unknown"),
            ("NetworkUnavailable", "False"),
            ("MemoryPressure", "Unknown"),
            ("DiskPressure", "Unknown"),
            ("PIDPressure", "Unknown"),
        ]


async def test_a_node_silent_for_50_seconds_is_unknown_with_unready_pods() -> None:
    async with with_lifecycle() as world:
        for name in ("alive", "silent"):
            await world.make_node(name)
            await world.make_pod(f"pod-of-{name}", name)
            await world.run_pod(f"pod-of-{name}")
        await keep_alive(world, "alive", seconds=50)
        assert (await world.conditions("silent"))["Ready"] == "True"

        await keep_alive(world, "alive", seconds=10)
        assert await world.conditions("alive") == {"Ready": "True"}
        assert await world.conditions("silent") == dict.fromkeys(
            ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"), "Unknown"
        )
        await world.turn(1)
        assert await pod_ready(world, "pod-of-silent") == "False"
        assert await pod_ready(world, "pod-of-alive") == "True"
        assert await world.taints("silent") == [UNREACHABLE, "unreachable:NoSchedule"]
        assert sorted(await world.events("NodeNotReady")) == [
            "Node is not ready",
            "Node silent status is now: NodeNotReady",
        ]


async def test_a_node_that_reports_again_is_taken_back() -> None:
    async with with_lifecycle() as world:
        await world.make_node("alive")
        await world.make_node("silent")
        await keep_alive(world, "alive", seconds=70)
        assert UNREACHABLE in await world.taints("silent")

        await world.report("silent", "True")
        await world.renew("alive")
        await world.turn(6)
        assert await world.taints("silent") == []


async def test_not_ready_and_unreachable_exclude_each_other_and_change_at_once() -> None:
    async with with_lifecycle() as world:
        await world.make_node("alive")
        await world.make_node("n")
        await world.renew("n")
        await world.report("n", "False")
        await keep_alive(world, "alive", seconds=10)
        assert await world.taints("n") == [NOT_READY, "not-ready:NoSchedule"]

        await keep_alive(world, "alive", seconds=60)
        assert await world.taints("n") == [UNREACHABLE, "unreachable:NoSchedule"]
        await world.report("n", "False")
        await keep_alive(world, "alive", seconds=10)
        assert await world.taints("n") == [NOT_READY, "not-ready:NoSchedule"]


async def test_pods_that_cannot_be_marked_are_marked_in_the_next_pass() -> None:
    async with with_lifecycle() as world:
        await world.make_node("alive")
        await world.make_node("silent")
        await world.make_pod("p", "silent")
        await world.run_pod("p")
        refused = itertools.count()
        world.server.faults.refuse(
            500,
            times=3,
            matching=lambda call: call.resource == "pods" and call.verb == "patch" and next(refused) >= 0,
        )
        await keep_alive(world, "alive", seconds=80)

        assert await pod_ready(world, "p") == "False"


async def test_a_pod_that_comes_to_an_unready_node_is_marked() -> None:
    async with with_lifecycle() as world:
        await world.make_node("alive")
        await world.make_node("silent")
        await keep_alive(world, "alive", seconds=70)
        await world.make_pod("late")
        await world.run_pod("late")
        await world.client.resource(V1Pod).bind("late", "silent", "default")
        await world.turn(1)

        assert await pod_ready(world, "late") == "False"


async def test_a_pod_that_comes_before_its_node_was_first_checked_is_marked() -> None:
    async with with_lifecycle() as world:
        await world.make_node("alive")
        await world.make_node("silent", "Unknown")
        await world.make_pod("late")
        await world.run_pod("late")
        await world.client.resource(V1Pod).bind("late", "silent", "default")
        await world.turn(0)

        assert await pod_ready(world, "late") == "False"


@pytest.mark.parametrize(
    ("status", "reason", "ready"),
    [("False", "KubeletNotReady", "True"), ("Unknown", "", "True"), ("Unknown", "NodeStatusUnknown", "False")],
)
async def test_existing_pods_are_marked_only_on_nodes_that_were_given_up(status: str, reason: str, ready: str) -> None:
    async with cluster({}) as before:
        await before.make_node("n", status)
        condition = {"type": "Ready", "status": status, "reason": reason}
        patch = {"status": {"conditions": [condition]}}
        await before.client.resource(V1Node).patch("n", patch, patch_type=PatchType.STRATEGIC, subresource="status")
        await before.make_pod("p", "n")
        await before.run_pod("p")
        async with anyio.create_task_group() as tasks:
            manager = Manager(before.client, known={"nodelifecycle": NodeLifecycleController}, clock=before.clock)
            tasks.start_soon(manager.run)
            await before.turn(10)
            tasks.cancel_scope.cancel()

        assert await pod_ready(before, "p") == ready


async def test_a_failed_health_write_is_repeated_from_the_servers_node() -> None:
    async with with_lifecycle() as world:
        await world.make_node("alive")
        await world.make_node("silent")
        refused = itertools.count()
        world.server.faults.refuse(
            409,
            times=3,
            matching=lambda call: call.part == "status" and call.resource == "nodes" and next(refused) >= 0,
        )
        await keep_alive(world, "alive", seconds=60)
        await world.turn(1)

        assert (await world.conditions("silent"))["Ready"] == "Unknown"
        assert next(refused) == 3


async def test_nodes_are_registered_and_removed_with_an_event_each() -> None:
    async with with_lifecycle() as world:
        await world.make_node("n")
        await world.turn(6)
        await world.client.resource(V1Node).delete("n")
        await world.turn(6)

        assert await world.events("RegisteredNode") == ["Node n event: Registered Node n in Controller"]
        assert await world.events("RemovingNode") == ["Node n event: Removing Node n from Controller"]
        controller: Any = parts_of(world.manager.controllers["nodelifecycle"])[0]._syncs.sync.__self__
        assert controller.monitor.health == {}


async def test_a_node_excluded_from_its_zone_is_still_monitored() -> None:
    async with with_lifecycle() as world:
        await world.make_node("alive")
        await world.make_node("excluded", labels={"node.kubernetes.io/exclude-disruption": ""})
        await keep_alive(world, "excluded", seconds=70)

        # The only node that counts is silent: everything stops.
        assert await world.taints("alive") == ["unreachable:NoSchedule"]
        controller: Any = parts_of(world.manager.controllers["nodelifecycle"])[0]._syncs.sync.__self__
        assert {zone: state.value for zone, state in controller.disruption.states.items()} == {"": "FullDisruption"}


async def pod_ready(world: Cluster, name: str) -> str:
    pod = await world.pod(name)
    conditions = (pod.status.conditions if pod.status is not None else None) or ()
    return next((each.status for each in conditions if each.type == "Ready"), "")


# A cache that is behind


async def test_a_node_whose_lease_is_renewed_unseen_is_not_unknown() -> None:
    async with with_lifecycle() as world:
        await world.make_node("n")
        await world.make_node("silent")
        await keep_alive(world, "n", seconds=10)

        world.server.faults.stall_watches()
        await keep_alive(world, "n", seconds=90)
        assert await world.conditions("n") == {"Ready": "True"}
        assert (await world.conditions("silent"))["Ready"] == "Unknown"


def cut_off(world: Cluster, resource: str) -> list[bool]:
    """Break all watches, and let nobody list or watch one kind until the returned list has an item."""
    over: list[bool] = []
    world.server.faults.refuse(
        503,
        times=10_000,
        matching=lambda call: call.resource == resource and call.verb in ("list", "watch") and not over,
    )
    world.server.faults.cut_watches()
    return over


async def test_nobody_is_judged_by_leases_that_cannot_be_followed() -> None:
    async with with_lifecycle() as world:
        await world.make_node("alive")
        await world.make_node("silent")
        await keep_alive(world, "alive", "silent", seconds=20)

        over = cut_off(world, "leases.coordination.k8s.io")
        await keep_alive(world, "alive", seconds=120)
        assert await world.conditions("silent") == {"Ready": "True"}

        over.append(True)
        await keep_alive(world, "alive", seconds=60)
        assert (await world.conditions("silent"))["Ready"] == "Unknown"
        assert await world.conditions("alive") == {"Ready": "True"}


async def test_a_node_that_became_ready_unseen_is_not_tainted() -> None:
    async with with_lifecycle(node_eviction_rate=0.1) as world:
        names = ("alive", "fine", "first", "second")
        for name in names:
            await world.make_node(name)
        await world.turn(5)
        for name in names[2:]:
            await world.report(name, "False")
        await world.turn(6)
        (waits,) = [name for name in names[2:] if NOT_READY not in await world.taints(name)]

        world.server.faults.stall_watches()
        await world.report(waits, "True")
        await keep_alive(world, *names, seconds=30)
        assert NOT_READY not in await world.taints(waits)


async def test_a_pod_is_not_marked_whose_node_became_ready_unseen() -> None:
    async with with_lifecycle(node_eviction_rate=0.0) as world:
        await world.make_node("alive")
        await world.make_node("n", "False")
        await world.turn(5)
        cut_off(world, "nodes")
        await world.report("n", "True")
        for name in ("before", "after"):
            await world.make_pod(name)
            await world.run_pod(name)
            if name == "after":
                await world.report("n", "False")
            await world.client.resource(V1Pod).bind(name, "n", "default")
            await world.turn(5)

        assert await pod_ready(world, "before") == "True"
        assert await pod_ready(world, "after") == "False"
