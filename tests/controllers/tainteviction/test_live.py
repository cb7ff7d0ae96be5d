"""The controller with a manager, against the embedded server: pods go, wait and stay as taints come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.client import DeleteOptions, PatchType
from kinformer.clock import FakeClock
from kinformer.models import V1Node, V1Pod
from kinformer_controllers.tainteviction.controller import TaintEvictionController
from tests.controllers.nodes import Cluster, cluster, toleration
from tests.metrics import metric_value

EVICTED = "TaintManagerEviction"


@asynccontextmanager
async def node_with_pods(**tolerated: list[dict[str, Any]]) -> AsyncIterator[Cluster]:
    """One node without taints, and a pod on it for each name, with these tolerations."""
    async with cluster({"taint-eviction": TaintEvictionController}) as found:
        await found.make_node("n")
        await found.set_taints("n")
        for name, tolerations in tolerated.items():
            await found.make_pod(name, "n", tolerations)
        await found.turn(0)
        yield found


async def test_pods_leave_when_their_tolerations_say() -> None:
    async with node_with_pods(
        none=[], some=[toleration("a", 60)], ever=[toleration("a")], other=[toleration("b")]
    ) as world:
        await world.set_taints("n", "a")
        await world.turn(0)
        assert await world.staying() == ["ever", "some"]

        await world.turn(59)
        assert await world.staying() == ["ever", "some"]
        await world.turn(1.001)
        assert await world.staying() == ["ever"]
        await world.turn(3600)
        assert await world.staying() == ["ever"]


async def test_a_pod_says_first_why_it_goes() -> None:
    async with node_with_pods(p=[]) as world:
        await world.set_taints("n", "a")
        await world.turn(1)

        pod = await world.pod("p")
        assert pod.metadata.deletion_timestamp is not None
        assert pod.status is not None
        target = next(each for each in pod.status.conditions or () if each.type == "DisruptionTarget")
        assert (target.status, target.reason) == ("True", "DeletionByTaintManager")
        assert target.message == "Taint manager: deleting due to NoExecute taint"
        assert target.observed_generation == 1
        assert target.last_transition_time == world.clock.start
        assert await world.events(EVICTED) == ["Marking for deletion Pod default/p"]


async def test_only_nodes_whose_taints_have_changed_are_queued() -> None:
    def adds() -> float:
        return metric_value("workqueue_adds_total", {"name": "noexec_taint_node"}) or 0

    async with node_with_pods(p=[toleration("a")]) as world:
        before = adds()
        await world.set_taints("n", "a")
        await world.turn(1)
        await world.set_taints("n", "a")  # as it was
        await world.client.resource(V1Node).patch("n", {"metadata": {"labels": {"a": "b"}}}, patch_type=PatchType.MERGE)
        await world.turn(1)

        assert adds() == before + 1


async def test_pods_are_queued_only_where_a_node_has_taints() -> None:
    def adds() -> float:
        return metric_value("workqueue_adds_total", {"name": "noexec_taint_pod"}) or 0

    before = adds()
    async with node_with_pods(p=[], q=[]) as world:
        assert adds() == before
        await world.set_taints("n", "a", effect="NoSchedule")
        await world.make_pod("r", "n", [])
        await world.turn(1)
        assert adds() == before

        await world.set_taints("n", "a")
        await world.turn(1)
        await world.make_pod("late", "n", [toleration("a")])
        await world.turn(1)
        assert adds() >= before + 4


@pytest.mark.parametrize("effect", ["NoSchedule", "PreferNoSchedule"])
async def test_other_effects_drive_nobody_off(effect: str) -> None:
    async with node_with_pods(p=[]) as world:
        await world.set_taints("n", "a", effect=effect)
        await world.turn(60)

        assert await world.staying() == ["p"]


async def test_a_pod_that_waits_is_left_alone_once_the_taint_has_gone() -> None:
    async with node_with_pods(p=[toleration("a", 60)]) as world:
        await world.set_taints("n", "a")
        await world.turn(59)
        await world.set_taints("n")
        await world.turn(3600)

        assert await world.staying() == ["p"]
        assert await world.events(EVICTED) == ["Cancelling deletion of Pod default/p"]


async def test_a_taint_that_comes_back_gives_the_whole_time_again() -> None:
    async with node_with_pods(p=[toleration("a", 60)]) as world:
        await world.set_taints("n", "a")
        await world.turn(50)
        await world.set_taints("n")
        await world.turn(5)
        await world.set_taints("n", "a")
        await world.turn(59)
        assert await world.staying() == ["p"]
        await world.turn(1.001)
        assert await world.staying() == []


async def test_a_second_shorter_tolerated_taint_does_not_hasten_a_waiting_pod() -> None:
    async with node_with_pods(p=[toleration("a", 60), toleration("b", 10)]) as world:
        await world.set_taints("n", "a")
        await world.turn(5)
        await world.set_taints("n", "a", "b")
        await world.turn(54)
        assert await world.staying() == ["p"]
        await world.turn(1.001)
        assert await world.staying() == []


async def test_a_second_taint_that_is_not_tolerated_has_it_go_at_once() -> None:
    async with node_with_pods(p=[toleration("a", 60)]) as world:
        await world.set_taints("n", "a")
        await world.turn(5)
        await world.set_taints("n", "a", "b")
        await world.turn(0)

        assert await world.staying() == []
        assert await world.events(EVICTED) == [
            "Cancelling deletion of Pod default/p",
            "Marking for deletion Pod default/p",
        ]


async def test_the_first_of_several_times_counts() -> None:
    async with node_with_pods(p=[toleration("a", 100), toleration("b", 20)]) as world:
        await world.set_taints("n", "a", "b")
        await world.turn(19)
        assert await world.staying() == ["p"]
        await world.turn(1.001)
        assert await world.staying() == []


async def test_of_two_taints_the_one_tolerated_for_time_may_go() -> None:
    async with node_with_pods(p=[toleration("a"), toleration("b", 60)]) as world:
        for taints in (("a",), ("a", "b"), ("a",)):
            await world.set_taints("n", *taints)
            await world.turn(30)
        await world.turn(3600)

        assert await world.staying() == ["p"]


async def test_a_pod_that_is_bound_to_a_tainted_node_goes() -> None:
    async with node_with_pods() as world:
        await world.set_taints("n", "a")
        await world.make_pod("p")
        await world.turn(10)
        assert await world.staying() == ["p"]
        await world.client.resource(V1Pod).bind("p", "n", "default")
        await world.turn(0)

        assert await world.staying() == []


async def test_a_toleration_added_while_waiting_does_not_lengthen_the_time() -> None:
    async with node_with_pods(p=[toleration("a", 60)]) as world:
        await world.set_taints("n", "a")
        await world.turn(30)
        longer = {"spec": {"tolerations": [toleration("a", 60), toleration("c", 600)]}}
        await world.client.resource(V1Pod).patch("p", longer, "default", patch_type=PatchType.MERGE)
        await world.turn(30.001)

        assert await world.staying() == []


async def test_a_new_nodes_taint_counts_for_pods_that_name_it() -> None:
    async with cluster({"taint-eviction": TaintEvictionController}) as world:
        await world.make_pod("p", "n")
        await world.turn(10)
        assert await world.staying() == ["p"]
        await world.make_node("n", taints=[{"key": "a", "effect": "NoExecute"}])
        await world.turn(0)

        assert await world.staying() == []


async def test_a_waiting_pod_goes_in_time_even_without_its_node() -> None:
    async with node_with_pods(p=[toleration("a", 60)]) as world:
        await world.set_taints("n", "a")
        await world.turn(10)
        await world.client.resource(V1Node).delete("n")
        await world.turn(49)
        assert await world.staying() == ["p"]
        await world.turn(1.001)
        assert await world.staying() == []


async def test_a_pod_of_the_same_name_starts_anew() -> None:
    async with node_with_pods(p=[toleration("a", 60)]) as world:
        await world.set_taints("n", "a")
        await world.turn(50)
        await world.client.resource(V1Pod).delete("p", "default", DeleteOptions(grace_period_seconds=0))
        await world.make_pod("p", "n", [toleration("a", 60)])
        await world.turn(59)
        assert await world.staying() == ["p"]
        await world.turn(1.001)
        assert await world.staying() == []


async def test_a_pod_of_the_same_name_on_no_node_is_left_alone() -> None:
    async with node_with_pods(p=[toleration("a", 60)]) as world:
        await world.set_taints("n", "a")
        await world.turn(50)
        await world.client.resource(V1Pod).delete("p", "default", DeleteOptions(grace_period_seconds=0))
        await world.make_pod("p")
        await world.turn(3600)

        assert await world.staying() == ["p"]


@pytest.mark.parametrize("verb", ["get", "patch", "delete"])
async def test_a_deletion_that_fails_is_tried_again_and_told_once(verb: str) -> None:
    async with node_with_pods(p=[]) as world:
        world.server.faults.refuse(500, times=12, matching=lambda call: call.verb == verb and call.resource == "pods")
        await world.set_taints("n", "a")
        await world.turn(0.02)
        assert await world.staying() == ["p"]
        await world.turn(600)

        assert await world.staying() == []
        assert await world.events(EVICTED) == ["Marking for deletion Pod default/p"]


async def test_a_deletion_that_fails_is_given_up_when_the_taint_goes() -> None:
    async with node_with_pods(p=[]) as world:
        refusing = True
        world.server.faults.refuse(
            500,
            times=100_000,
            matching=lambda call: refusing and call.verb == "delete" and call.resource == "pods",
        )
        await world.set_taints("n", "a")
        await world.turn(60)
        await world.set_taints("n")
        await world.turn(600)
        refusing = False
        await world.turn(3600)

        assert await world.staying() == ["p"]
        assert (await world.events(EVICTED))[-1] == "Cancelling deletion of Pod default/p"


async def test_a_pod_stays_if_the_taint_went_uncached() -> None:
    async with node_with_pods(p=[toleration("a", 60)], q=[toleration("a", 60), toleration("b", 90)]) as world:
        await world.set_taints("n", "a")
        await world.turn(30)
        world.server.faults.stall_watches()
        await world.set_taints("n", "b")
        await world.set_taints("n")
        await world.turn(31)
        assert await world.staying() == ["p", "q"]
        assert await world.events(EVICTED) == [
            "Cancelling deletion of Pod default/p",
            "Cancelling deletion of Pod default/q",
        ]

        world.server.faults.resume_watches()
        await world.set_taints("n", "a")
        await world.turn(59)
        assert await world.staying() == ["p", "q"]
        await world.turn(2)
        assert await world.staying() == []


async def test_pods_that_wait_have_one_timer_and_no_task_of_their_own() -> None:
    async with cluster({"taint-eviction": TaintEvictionController}) as world:
        await world.make_node("n")
        await world.set_taints("n", "a")
        await world.turn(0)
        tasks, timers = len(asyncio.all_tasks()), timers_of(world.clock)
        for number in range(200):
            await world.make_pod(f"p{number}", "n", [toleration("a", 600)])
        await world.turn(1)

        assert len(await world.staying()) == 200
        assert len(asyncio.all_tasks()) <= tasks
        assert timers_of(world.clock) <= timers + 1
        await world.turn(600)
        assert await world.staying() == []


def timers_of(clock: FakeClock) -> int:
    return sum(timer.callback is not None for _, _, timer in clock._due)
