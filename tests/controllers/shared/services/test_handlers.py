from __future__ import annotations

import pytest

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.clock import FakeClock
from kinformer.models import V1Pod
from kinformer.workqueue import DelayingQueue
from kinformer_controllers.shared.services.handlers import PodHandler, ServiceHandler
from kinformer_controllers.shared.services.pod import EndpointPods
from kinformer_controllers.shared.services.selection import Selection
from tests.controllers.shared.services.world import make_pod, make_service


class Told:
    """Handlers with a queue, and the services web (app=web) and all (kind=pod)."""

    def __init__(self, batch_period: float = 0.0) -> None:
        self.clock = FakeClock()
        self.queue: DelayingQueue[str] = DelayingQueue(clock=self.clock)
        selection = Selection()
        self.services = ServiceHandler(self.queue, selection)
        self.pods = PodHandler(self.queue, selection, EndpointPods(), batch_period)
        self.services.on_add(make_service("web"), True)
        self.services.on_add(make_service("all", selector={"kind": "pod"}), True)

    async def queued(self) -> list[str]:
        keys: list[str] = []
        while len(self.queue):
            key = await self.queue.get()
            self.queue.done(key)
            keys.append(key)
        return sorted(keys)


BOTH = {"app": "web", "kind": "pod"}


@pytest.fixture
async def told() -> Told:
    told = Told()
    assert await told.queued() == ["ns/all", "ns/web"]
    return told


async def test_a_pod_that_comes_or_goes_has_all_services_synced_that_select_it(told: Told) -> None:
    pod = make_pod("a", "10.0.0.1", labels=BOTH)
    told.pods.on_add(pod, False)
    assert await told.queued() == ["ns/all", "ns/web"]

    told.pods.on_delete(pod)
    assert await told.queued() == ["ns/all", "ns/web"]


async def test_a_pod_that_is_found_gone_is_known_by_its_key(told: Told) -> None:
    told.pods.on_add(make_pod("a", "10.0.0.1"), False)
    await told.queued()

    told.pods.on_delete(DeletedFinalStateUnknown("ns/a", None))  # type: ignore[arg-type]  # its last state is unknown
    assert await told.queued() == ["ns/web"]


async def change(told: Told, before: V1Pod, after: V1Pod) -> list[str]:
    told.pods.on_add(before, False)
    await told.queued()
    told.pods.on_update(before, after)
    return await told.queued()


async def test_a_change_of_the_pod_has_those_synced_that_select_it(told: Told) -> None:
    before, after = make_pod("a", "10.0.0.1"), make_pod("a", "10.0.0.1", ready=False)
    assert await change(told, before, after) == ["ns/web"]


async def test_a_change_of_labels_alone_concerns_who_wins_it_and_who_loses_it(told: Told) -> None:
    before = make_pod("a", "10.0.0.1", labels={"app": "web", "kind": "pod"})
    after = make_pod("a", "10.0.0.1", labels={"app": "db", "kind": "pod"})
    assert await change(told, before, after) == ["ns/web"]


async def test_a_change_of_both_concerns_who_has_it_all_the_time_too(told: Told) -> None:
    before = make_pod("a", "10.0.0.1", labels={"app": "web", "kind": "pod"})
    after = make_pod("a", "10.0.0.2", labels={"app": "db", "kind": "pod"})
    assert await change(told, before, after) == ["ns/all", "ns/web"]


async def test_a_resync_and_a_change_of_other_things_concern_nobody(told: Told) -> None:
    before, after = make_pod("a", "10.0.0.1"), make_pod("a", "10.0.0.1", serviceAccountName="x")
    assert await change(told, before, before) == []
    assert await change(told, before, after) == []


async def test_changes_of_pods_wait_for_the_batch_period_and_are_one_sync() -> None:
    told = Told(batch_period=0.5)
    await told.queued()
    for number in range(20):
        told.pods.on_add(make_pod(f"pod-{number}", "10.0.0.1"), False)
        told.clock.turn(0.02)
    assert await told.queued() == []

    told.clock.turn(0.1)
    assert await told.queued() == ["ns/web"]
    told.clock.turn(10)
    assert await told.queued() == []


async def test_a_change_of_the_service_does_not_wait() -> None:
    told = Told(batch_period=0.5)
    await told.queued()
    service = make_service("web")
    told.services.on_update(service, service)
    assert await told.queued() == ["ns/web"]

    told.services.on_delete(DeletedFinalStateUnknown("ns/web", service))
    assert await told.queued() == ["ns/web"]
    told.pods.on_add(make_pod("a", "10.0.0.1"), False)
    told.clock.turn(1)
    assert await told.queued() == []
