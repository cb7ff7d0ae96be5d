"""What makes a budget be counted again, and a pod be looked at."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.controllerutil.handlers import OwnerHandler
from kinformer.models import V1PodDisruptionBudget
from kinformer_controllers.disruption.budgets import Budgets, PodHandler
from tests.controllers.disruption.world import NOW, World
from tests.controllers.objects import drained


@pytest.fixture
def world() -> World:
    return World()


def pod_handler(world: World) -> PodHandler:
    disruption = world.disruption
    return PodHandler(
        disruption.controller.queue,
        disruption.stale_pods.queue,
        disruption.budgets,
        world.recorder,
        world.clock,
    )


async def queued(world: World) -> list[str]:
    return sorted(drained(world.disruption.controller.queue))


async def test_each_change_of_a_pod_counts_the_budget_that_selects_it(world: World) -> None:
    world.budget(minAvailable=1)
    handler, pod = pod_handler(world), world.pod("p")

    handler.on_add(pod, False)
    assert await queued(world) == ["ns/b"]
    handler.on_update(pod, pod)
    assert await queued(world) == ["ns/b"]
    handler.on_delete(pod)
    assert await queued(world) == ["ns/b"]
    handler.on_delete(DeletedFinalStateUnknown("ns/p", pod))
    assert await queued(world) == ["ns/b"]
    handler.on_delete(DeletedFinalStateUnknown("ns/p", None))
    assert await queued(world) == []


@pytest.mark.parametrize(("changed", "counted"), [({"message": "other"}, []), ({"phase": "Failed"}, ["ns/b"])])
async def test_a_change_that_no_budget_counts_is_not_counted(
    world: World, changed: dict[str, str], counted: list[str]
) -> None:
    world.budget(minAvailable=1)
    old, new = world.pod("p"), world.pod("p")
    for name, value in changed.items():
        setattr(new.status, name, value)

    pod_handler(world).on_update(old, new)

    assert await queued(world) == counted


async def test_a_pod_that_no_budget_selects_counts_none(world: World) -> None:
    world.budget(minAvailable=1)

    pod_handler(world).on_add(world.pod("p", labels={"app": "other"}), False)

    assert await queued(world) == []


async def test_a_budget_that_loses_a_pod_by_its_labels_is_counted(world: World) -> None:
    world.budget(minAvailable=1)
    old = world.pod("p")
    new = world.pod("p", labels={"app": "other"})

    pod_handler(world).on_update(old, new)

    assert await queued(world) == ["ns/b"]


async def test_a_pod_of_two_budgets_counts_both_and_is_told_of(world: World) -> None:
    world.budget(minAvailable=1)
    metadata = {"name": "c", "namespace": "ns", "uid": "c"}
    world.put(V1PodDisruptionBudget, metadata=metadata, spec={"selector": {}, "minAvailable": 1})

    pod_handler(world).on_add(world.pod("p"), False)

    assert sorted(await queued(world)) == ["ns/b", "ns/c"]
    assert world.recorder.events == [
        (
            'Warning MultiplePodDisruptionBudgets p: Pod "ns"/"p" matches multiple PodDisruptionBudgets.  '
            'Chose "b" arbitrarily.'
        )
    ]


@pytest.mark.parametrize("labels", [{"app": "web"}, {"app": "web", "tier": "front"}])
async def test_budgets_of_other_pods_are_not_looked_at(world: World, labels: dict[str, str]) -> None:
    for number in range(100):
        metadata = {"name": f"b-{number}", "namespace": "ns", "uid": f"b-{number}"}
        spec = {"selector": {"matchLabels": {**labels, "app": f"app-{number}"}}, "minAvailable": 1}
        world.put(V1PodDisruptionBudget, metadata=metadata, spec=spec)
    world.budget(selector={"matchLabels": labels}, minAvailable=1)

    pod_handler(world).on_add(world.pod("p", labels={"other": "", **labels}), False)

    assert await queued(world) == ["ns/b"]
    assert len(world.disruption.budgets) == 1


async def test_a_pod_with_the_condition_is_looked_at_when_it_is_stale(world: World) -> None:
    pod = world.pod("p")
    assert pod.status is not None
    condition = (pod.status.conditions or [])[0]
    condition.type, condition.last_transition_time = "DisruptionTarget", NOW - timedelta(seconds=30)

    pod_handler(world).on_add(pod, False)

    assert world.clock.next_due == 90.0


def test_a_changed_selector_is_compiled_again_and_a_deleted_budget_forgotten(world: World) -> None:
    budgets = world.disruption.budgets
    handler = OwnerHandler(world.disruption.controller.queue.add, budgets.forget)
    world.budget(minAvailable=1)
    pod = world.pod("p")
    assert len(budgets.of_pod(pod)) == 1

    world.budget(minAvailable=1, selector={"matchLabels": {"app": "other"}})
    assert budgets.of_pod(pod) == []
    world.budget(minAvailable=1, selector={"matchExpressions": [{"key": "a", "operator": "Nonsense"}]})
    assert budgets.of_pod(pod) == []

    budget: V1PodDisruptionBudget = world.informers.informer_for(V1PodDisruptionBudget).indexer.get_by_key("ns/b")
    handler.on_delete(budget)
    assert len(budgets) == 0


def test_nothing_is_remembered_of_a_namesake_that_was_replaced(world: World) -> None:
    budgets = Budgets(world.informers.informer_for(V1PodDisruptionBudget).indexer, None)  # type: ignore[arg-type]
    handler = OwnerHandler(world.disruption.controller.queue.add, budgets.forget)
    world.budget(minAvailable=1)
    cache = world.informers.informer_for(V1PodDisruptionBudget).indexer
    old: V1PodDisruptionBudget = cache.get_by_key("ns/b")
    budgets.of_pod(world.pod("p"))
    metadata = {"name": "b", "namespace": "ns", "uid": "another"}
    new = world.put(V1PodDisruptionBudget, metadata=metadata, spec={"selector": {}, "minAvailable": 1})

    handler.on_update(old, new)

    assert len(budgets) == 0
