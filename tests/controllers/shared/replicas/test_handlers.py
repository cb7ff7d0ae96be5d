from __future__ import annotations

import pytest

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.clock import FakeClock
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.handlers import OwnerHandler, PodHandler
from kinformer.controllerutil.owning import OwnerId, PodOwners
from kinformer.models import V1OwnerReference, V1Pod, V1ReplicationController
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.replicationcontroller.controller import REPLICATION_CONTROLLERS
from kinformer_controllers.shared.replicas.owners import ByLabels, ByReference
from tests.controllers.objects import FakeInformers, FakePods, FakeServer, drained, make_pod, make_rc

NOW = FakeClock().now()
WEB = OwnerId("ns/web", "uid-web")


class Wiring:
    """The handlers over a cache with some ReplicationControllers."""

    def __init__(self, *rcs: V1ReplicationController, by_labels: bool = False) -> None:
        self.clock = FakeClock()
        self.queue: RateLimitingQueue[str] = RateLimitingQueue(clock=self.clock)
        self.expectations = Expectations(self.clock)
        informers = FakeInformers()
        self.rcs = informers.informer_for(V1ReplicationController).indexer
        for rc in rcs:
            self.rcs.add(rc)
        pods, kind = informers.informer_for(V1Pod), REPLICATION_CONTROLLERS
        rc_informer = informers.informer_for(V1ReplicationController)
        server, control = FakeServer(), FakePods()
        self.owners: PodOwners = (
            ByLabels(kind, rc_informer, pods) if by_labels else ByReference(kind, rc_informer, pods, server, control)  # type: ignore[arg-type]
        )
        self.pods = PodHandler(self.queue, self.expectations, self.owners)
        self.controllers = OwnerHandler(self.queue.add, self.expectations.forget)

    def queued(self) -> list[str]:
        """What the handlers asked to be synced since this was asked last."""
        return sorted(drained(self.queue))


@pytest.fixture
def rc() -> V1ReplicationController:
    return make_rc()


def test_a_new_pod_wakes_its_controller_and_is_crossed_off(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)
    wiring.expectations.expect(WEB, creations=1)

    wiring.pods.on_add(make_pod("a", rc), False)

    assert wiring.queued() == ["ns/web"]
    assert wiring.expectations.satisfied(WEB)


def test_a_new_pod_of_another_controller_wakes_nobody(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)
    of_a_replica_set = make_pod("b", rc)
    of_a_replica_set.metadata.owner_references[0].kind = "ReplicaSet"

    wiring.pods.on_add(make_pod("a", make_rc(uid="another")), False)
    wiring.pods.on_add(of_a_replica_set, False)

    assert wiring.queued() == []


def test_an_orphan_wakes_all_that_match_and_nobody_expects_it(rc: V1ReplicationController) -> None:
    twin, other = make_rc(name="twin"), make_rc(name="other")
    twin.spec.selector = {"app": "web"}
    wiring = Wiring(rc, twin, other)
    wiring.expectations.expect(WEB, creations=1)

    wiring.pods.on_add(make_pod("a"), False)

    assert wiring.queued() == ["ns/twin", "ns/web"]
    assert not wiring.expectations.satisfied(WEB)


def test_an_empty_selector_matches_nothing(rc: V1ReplicationController) -> None:
    rc.spec.selector = {}
    wiring = Wiring(rc)

    wiring.pods.on_add(make_pod("a"), False)

    assert wiring.queued() == []


def test_a_new_pod_that_is_being_deleted_counts_as_deleted(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)
    wiring.expectations.expect(WEB, creations=1)

    wiring.pods.on_add(make_pod("a", rc, deleted_at=NOW), True)

    assert wiring.queued() == ["ns/web"]
    assert not wiring.expectations.satisfied(WEB)


def test_a_deletion_timestamp_is_a_deletion_and_the_end_is_not_another(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)
    wiring.expectations.expect(WEB, deletions=["ns/a", "ns/b"])
    going = make_pod("a", rc, deleted_at=NOW)

    wiring.pods.on_update(make_pod("a", rc), going)
    wiring.pods.on_delete(going)

    assert wiring.expectations.awaited_deletions(WEB) == {"ns/b"}
    assert not wiring.expectations.satisfied(WEB)


def test_a_tombstone_is_a_deletion(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)
    wiring.expectations.expect(WEB, deletions=["ns/a"])

    wiring.pods.on_delete(DeletedFinalStateUnknown("ns/a", make_pod("a", rc)))
    assert wiring.queued() == ["ns/web"]
    assert wiring.expectations.satisfied(WEB)

    wiring.pods.on_delete(DeletedFinalStateUnknown("ns/b", None))
    assert wiring.queued() == []


def test_an_orphans_deletion_is_nobodys_business(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)

    wiring.pods.on_delete(make_pod("a"))

    assert wiring.queued() == []


def test_a_resync_of_a_pod_wakes_nobody(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)
    pod = make_pod("a", rc)

    wiring.pods.on_update(pod, pod)

    assert wiring.queued() == []


def test_a_change_of_owner_wakes_both(rc: V1ReplicationController) -> None:
    other = make_rc(name="other")
    wiring = Wiring(rc, other)

    wiring.pods.on_update(make_pod("a", rc), make_pod("a", other))

    assert wiring.queued() == ["ns/other", "ns/web"]


def test_a_released_pod_wakes_its_old_owner_and_those_that_match_it(rc: V1ReplicationController) -> None:
    other = make_rc(name="other")
    wiring = Wiring(rc, other)

    wiring.pods.on_update(make_pod("a", rc), make_pod("a", app="other"))

    assert wiring.queued() == ["ns/other", "ns/web"]


def test_an_orphan_is_offered_again_only_when_its_labels_change(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)

    wiring.pods.on_update(make_pod("a"), make_pod("a", phase="Failed"))
    assert wiring.queued() == []

    wiring.pods.on_update(make_pod("a", app="other"), make_pod("a"))
    assert wiring.queued() == ["ns/web"]


async def test_a_ready_pod_wakes_its_controller_again_when_available() -> None:
    rc = make_rc(min_ready_seconds=30)
    wiring = Wiring(rc)

    wiring.pods.on_update(make_pod("a", rc), make_pod("a", rc, ready_since=NOW))
    assert wiring.queued() == ["ns/web"]

    wiring.clock.turn(29)
    assert wiring.queued() == []
    wiring.clock.turn(1)
    assert wiring.queued() == ["ns/web"]


def test_every_change_of_a_controller_wakes_it(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)

    wiring.controllers.on_add(rc, True)
    assert wiring.queued() == ["ns/web"]
    wiring.controllers.on_update(rc, rc)
    assert wiring.queued() == ["ns/web"]
    wiring.controllers.on_delete(DeletedFinalStateUnknown("ns/web", None))
    assert wiring.queued() == ["ns/web"]


def test_a_recreated_controller_does_not_wait_for_the_old_ones_pods(rc: V1ReplicationController) -> None:
    wiring = Wiring(rc)
    wiring.expectations.expect(WEB, creations=5)

    wiring.controllers.on_update(rc, make_rc(uid="another"))

    assert wiring.expectations.satisfied(WEB)


def test_by_labels_a_pod_belongs_to_the_oldest_that_matches() -> None:
    old, young = make_rc(name="old"), make_rc(name="young")
    for rc, seconds in ((old, 0), (young, 60)):
        rc.spec.selector = {"app": "web"}
        rc.metadata.creation_timestamp = NOW.fromtimestamp(NOW.timestamp() + seconds, NOW.tzinfo)
    wiring = Wiring(young, old, by_labels=True)
    wiring.expectations.expect(OwnerId("ns/old", "uid-old"), creations=1)

    wiring.pods.on_add(make_pod("a"), False)

    assert wiring.queued() == ["ns/old"]
    assert wiring.expectations.satisfied(OwnerId("ns/old", "uid-old"))


def test_by_labels_a_changed_pod_wakes_its_old_and_new_controllers(rc: V1ReplicationController) -> None:
    other = make_rc(name="other")
    wiring = Wiring(rc, other, by_labels=True)

    wiring.pods.on_update(make_pod("a"), make_pod("a", app="other"))

    assert wiring.queued() == ["ns/other", "ns/web"]


def test_by_labels_a_deleted_pod_without_labels_is_still_crossed_off(
    rc: V1ReplicationController,
) -> None:
    wiring = Wiring(rc, make_rc(name="other"), by_labels=True)
    wiring.expectations.expect(WEB, deletions=["ns/a"])

    wiring.pods.on_update(make_pod("a"), make_pod("a", app="other", deleted_at=NOW))

    assert wiring.queued() == ["ns/other", "ns/web"]
    assert wiring.expectations.satisfied(WEB)


@pytest.mark.parametrize("by_labels", [False, True])
def test_an_owner_that_is_gone_asks_for_no_ready_seconds(rc: V1ReplicationController, by_labels: bool) -> None:
    owners = Wiring(make_rc(name="other", min_ready_seconds=5), by_labels=by_labels).owners

    assert owners.min_ready_seconds(OwnerId("ns/other", "uid-other")) == 5
    assert owners.min_ready_seconds(WEB) == 0


def test_a_pod_belongs_to_its_controller_at_any_api_version(
    rc: V1ReplicationController,
) -> None:
    wiring = Wiring(rc)
    pod, of_another_version = make_pod("a", rc), make_pod("b", rc)
    mere_owner = V1OwnerReference(api_version="v1", kind="ConfigMap", name="c", uid="u")
    pod.metadata.owner_references.insert(0, mere_owner)
    of_another_version.metadata.owner_references[0].api_version = "example.com/v1"

    wiring.pods.on_add(of_another_version, False)
    assert wiring.queued() == ["ns/web"]
    wiring.pods.on_add(pod, False)
    assert wiring.queued() == ["ns/web"]
