"""Pods that said they would be disrupted, and were not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.models import V1Pod
from tests.controllers.disruption.world import NOW, World

KEY = "ns/foo"


def put_pod(world: World, condition: dict[str, Any] | None, *, phase: str = "Running", **metadata: Any) -> V1Pod:
    conditions = [] if condition is None else [{"type": "DisruptionTarget", **condition}]
    metadata = {"name": "foo", "namespace": "ns", "generation": 3, **metadata}
    pod: V1Pod = world.put(
        V1Pod, metadata=metadata, spec={"containers": []}, status={"phase": phase, "conditions": conditions}
    )
    return pod


def told(world: World) -> list[tuple[str, int | None]]:
    pod: V1Pod = world.informers.informer_for(V1Pod).indexer.get_by_key(KEY)
    assert pod.status is not None
    return [(condition.status, condition.observed_generation) for condition in pod.status.conditions or ()]


SINCE = {"status": "True", "lastTransitionTime": NOW.isoformat()}


async def test_the_condition_is_taken_back_when_two_minutes_have_passed() -> None:
    world = World()
    put_pod(world, SINCE)
    world.clock.turn(119)
    assert await world.disruption.stale.sync(KEY) == 1.0
    assert told(world) == [("True", None)]

    world.clock.turn(1)
    assert await world.disruption.stale.sync(KEY) is None

    assert told(world) == [("False", 3)]


@pytest.mark.parametrize(
    ("condition", "more"),
    [
        (SINCE, {"deletionTimestamp": NOW.isoformat()}),
        (None, {}),
        ({**SINCE, "status": "False"}, {}),
        ({**SINCE, "reason": "TerminationByKubelet"}, {}),
        (SINCE, {"phase": "Failed"}),
        (SINCE, {"phase": "Succeeded"}),
    ],
    ids=["being deleted", "no condition", "taken back", "the kubelet's", "failed", "succeeded"],
)
async def test_these_pods_are_left_alone(condition: dict[str, Any] | None, more: dict[str, Any]) -> None:
    world = World()
    put_pod(world, condition, **more)
    world.clock.turn(timedelta(hours=1).total_seconds())

    assert await world.disruption.stale.sync(KEY) is None

    assert world.writes == 0


async def test_a_pod_that_is_gone_is_nothing_to_do() -> None:
    assert await World().disruption.stale.sync(KEY) is None
