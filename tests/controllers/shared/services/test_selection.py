"""Which pods a service selects, and which services a changed pod or service queues."""

from __future__ import annotations

import random

import pytest

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.clock import FakeClock
from kinformer.models import V1Pod
from kinformer.workqueue import DelayingQueue
from kinformer_controllers.shared.services.pod import EndpointPod, EndpointPods, endpoint_pod
from kinformer_controllers.shared.services.selection import PodHandler, Selection, ServiceHandler
from tests.controllers.objects import drained
from tests.controllers.shared.services.world import make_pod, make_service


def pod(name: str, **labels: str) -> EndpointPod:
    return endpoint_pod(make_pod(name, labels=labels))


def names(pods: object) -> list[str]:
    return sorted(each.name for each in pods)  # type: ignore[attr-defined]  # a view of pods


def test_a_service_has_pods_from_before_and_after_it() -> None:
    selection = Selection()
    selection.set_pod(pod("a", app="web"))
    selection.set_service("ns/web", {"app": "web"})
    selection.set_pod(pod("b", app="web", tier="front"))
    selection.set_pod(pod("c", app="db"))

    assert names(selection.pods_of("ns/web", {"app": "web"})) == ["a", "b"]


def test_a_pod_that_changes_its_labels_moves() -> None:
    selection = Selection()
    selection.set_service("ns/web", {"app": "web"})
    selection.set_service("ns/db", {"app": "db"})
    selection.set_pod(pod("a", app="web"))
    before = selection.set_pod(pod("a", app="db"))

    assert before is not None
    assert before.labels == {"app": "web"}
    assert names(selection.pods_of("ns/web", {"app": "web"})) == []
    assert names(selection.pods_of("ns/db", {"app": "db"})) == ["a"]


def test_pods_of_another_namespace_are_not_selected() -> None:
    selection = Selection()
    selection.set_service("other/web", {"app": "web"})
    selection.set_pod(pod("a", app="web"))

    assert names(selection.pods_of("other/web", {"app": "web"})) == []
    assert selection.services_of(pod("a", app="web")) == []


def test_an_unconfirmed_selector_gives_no_answer_for_its_service() -> None:
    selection = Selection()
    selection.set_service("ns/web", {"app": "web"})

    assert selection.pods_of("ns/web", {"app": "db"}) is None
    assert selection.pods_of("ns/unheard-of", {"app": "web"}) is None


def test_a_service_without_a_selector_selects_nothing() -> None:
    selection = Selection()
    selection.set_pod(pod("a", app="web"))
    selection.set_service("ns/web", {"app": "web"})
    selection.set_service("ns/web", None)
    selection.set_service("ns/all", {})

    assert selection.services_of(pod("a", app="web")) == []


def test_nothing_is_left_when_all_have_gone() -> None:
    selection = Selection()
    selection.set_service("ns/web", {"app": "web", "tier": "front"})
    selection.set_pod(pod("a", app="web", tier="front"))
    selection.drop_service("ns/web")
    selection.drop_pod("ns/a")
    selection.drop_pod("ns/a")
    selection.drop_service("ns/web")

    assert vars(selection) == {"_namespaces": {}, "_selectors": {}}


def test_after_any_changes_it_agrees_with_a_full_scan() -> None:
    rng = random.Random(8)
    selection = Selection()
    services: dict[str, dict[str, str]] = {}
    pods: dict[str, EndpointPod] = {}

    def some_labels(least: int) -> dict[str, str]:
        return {key: rng.choice("xyz") for key in rng.sample("abcd", rng.randint(least, 3))}

    for _ in range(3000):
        name = f"{rng.randint(0, 12)}"
        roll = rng.random()
        if roll < 0.35:
            pods[name] = pod(name, **some_labels(0))
            selection.set_pod(pods[name])
        elif roll < 0.55:
            pods.pop(name, None)
            selection.drop_pod(f"ns/{name}")
        elif roll < 0.8:
            services[name] = some_labels(1)
            selection.set_service(f"ns/{name}", services[name])
        else:
            services.pop(name, None)
            selection.drop_service(f"ns/{name}")
        for each, selector in services.items():
            want = sorted(pod.name for pod in pods.values() if selector.items() <= pod.labels.items())
            assert names(selection.pods_of(f"ns/{each}", selector)) == want
        for each_pod in pods.values():
            want = sorted(f"ns/{key}" for key, sel in services.items() if sel.items() <= each_pod.labels.items())
            assert sorted(selection.services_of(each_pod)) == want


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
        return sorted(drained(self.queue))


BOTH = {"app": "web", "kind": "pod"}


@pytest.fixture
async def told() -> Told:
    told = Told()
    assert await told.queued() == ["ns/all", "ns/web"]
    return told


async def test_a_new_or_deleted_pod_wakes_all_services_selecting_it(told: Told) -> None:
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


async def test_a_label_change_wakes_old_and_new_services_only(told: Told) -> None:
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
