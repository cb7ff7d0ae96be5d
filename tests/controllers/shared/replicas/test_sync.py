from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from kinformer.client import connect
from kinformer.clock import FakeClock
from kinformer.controllerutil.owning import OwnerId
from kinformer.controllerutil.writing import ObjectReplaced
from kinformer.informers import SharedInformerFactory
from kinformer.manager import ControllerContext
from kinformer.models import V1LabelSelector, V1OwnerReference, V1Pod
from kinformer_controllers.replicaset.controller import REPLICA_SETS
from kinformer_controllers.replicaset.controller import make_controller as make_replicaset
from kinformer_controllers.replicationcontroller.controller import REPLICATION_CONTROLLERS
from kinformer_controllers.replicationcontroller.controller import make_controller as make_replicationcontroller
from kinformer_controllers.shared.replicas.controller import ReplicaController
from kinformer_controllers.shared.replicas.owners import ReplicaKind
from tests.controllers.objects import (
    FakeContext,
    FakeInformers,
    FakePods,
    FakeServer,
    conflict,
    forbidden,
    make_pod,
    make_rc,
    make_rs,
    not_found,
)

KEY = "ns/web"
WEB = OwnerId(KEY, "uid-web")

KINDS: list[ReplicaKind[Any]] = [REPLICATION_CONTROLLERS, REPLICA_SETS]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name, autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ReplicaKind[Any]:
    """Every test is run with both kinds: what :func:`make_owner` makes is of this one."""
    monkeypatch.setattr(World, "kind", request.param)
    found: ReplicaKind[Any] = request.param
    return found


def make_owner(*args: Any, **options: Any) -> Any:
    return (make_rc if World.kind is REPLICATION_CONTROLLERS else make_rs)(*args, **options)


class World:
    """An owner, pods, and the controller that looks after them; nothing of it runs by itself."""

    kind: ReplicaKind[Any] = REPLICA_SETS

    def __init__(self, rc: Any, *pods: V1Pod, by_labels: bool = False) -> None:
        self.clock = FakeClock()
        self.informers = FakeInformers()
        self.pods = FakePods()
        self.server = FakeServer(rc)
        self.manager: ReplicaController[Any] = ReplicaController(
            FakeContext(self.server, self.informers, clock=self.clock),
            self.kind,
            pods=self.pods,
            by_labels=by_labels,
        )
        if rc is not None:
            self.informers.informer_for(World.kind.model).indexer.add(rc)
        for pod in pods:
            self.add(pod)

    def add(self, pod: V1Pod) -> None:
        self.informers.informer_for(V1Pod).indexer.add(pod)

    async def sync(self, key: str = KEY) -> float | None:
        return await self.manager.sync(key)


async def test_missing_pods_are_made_and_expected() -> None:
    rc = make_owner(3)
    world = World(rc, make_pod("a", rc))

    await world.sync()

    assert len(world.pods.created) == 2
    meta = world.pods.created[0].metadata
    assert (meta.generate_name, meta.labels, meta.owner_references[0].uid) == ("web-", {"app": "web"}, "uid-web")
    assert not world.manager.expectations.satisfied(WEB)
    (status,) = world.server.statuses
    assert (status.replicas, status.fully_labeled_replicas, status.observed_generation) == (1, 1, 1)


async def test_while_expecting_nothing_is_made_and_the_status_stays_current() -> None:
    rc = make_owner(3)
    world = World(rc)
    await world.sync()

    world.add(make_pod("a", rc))
    await world.sync()

    assert len(world.pods.created) == 3
    assert [status.replicas for status in world.server.statuses] == [0, 1]


async def test_after_five_minutes_of_silence_it_acts_again() -> None:
    world = World(make_owner(1))
    await world.sync()
    world.clock.turn(301)

    await world.sync()

    assert len(world.pods.created) == 2


async def test_one_sync_makes_five_hundred_pods_at_most() -> None:
    world = World(make_owner(2000))

    await world.sync()

    assert len(world.pods.created) == 500
    expected = world.manager.expectations.get(WEB)
    assert expected is not None
    assert expected.creations == 500


async def test_a_refused_create_ends_batches_sets_a_condition_and_fails() -> None:
    world = World(make_owner(20))

    def refuse_the_fourth() -> None:
        if len(world.pods.created) >= 3:
            raise forbidden("exceeded quota: q")

    world.pods.on_create = refuse_the_fourth

    with pytest.raises(Exception, match="exceeded quota: q"):
        await world.sync()

    assert len(world.pods.created) == 3
    (status,) = world.server.statuses
    (condition,) = status.conditions
    assert (condition.type, condition.status, condition.reason) == ("ReplicaFailure", "True", "FailedCreate")
    assert condition.message == "exceeded quota: q"
    expected = world.manager.expectations.get(WEB)
    assert expected is not None
    assert expected.creations == 3


async def test_the_condition_goes_when_the_failure_does() -> None:
    rc = make_owner(1)
    world = World(rc)
    world.pods.on_create = lambda: (_ for _ in ()).throw(forbidden())
    with pytest.raises(Exception, match="exceeded quota"):
        await world.sync()
    rc.status = world.server.statuses[-1]
    world.pods.on_create = lambda: None

    await world.sync()

    assert world.server.statuses[-1].conditions is None


async def test_the_first_failure_stands_until_all_is_well_again() -> None:
    rc = make_owner(1)
    world = World(rc)

    def refuse(*_: Any) -> None:
        raise forbidden()

    world.pods.on_create = world.pods.on_delete = refuse
    with pytest.raises(Exception, match="exceeded quota"):
        await world.sync()
    rc.status = world.server.statuses[-1]

    world.manager.expectations.forget(KEY)
    world.add(make_pod("a", rc))
    rc.spec.replicas = 0
    with pytest.raises(Exception, match="exceeded quota"):
        await world.sync()

    (condition,) = world.server.statuses[-1].conditions
    assert (condition.reason, world.server.statuses[-1].replicas) == ("FailedCreate", 1)


async def test_pods_too_many_are_removed_in_their_order_and_expected_to_go() -> None:
    rc = make_owner(1)
    world = World(
        rc,
        make_pod("ready", rc, ready_since=FakeClock().now()),
        make_pod("unready", rc),
        make_pod("pending", rc, phase="Pending"),
    )

    await world.sync()

    assert sorted(world.pods.deleted) == ["pending", "unready"]
    assert world.manager.expectations.awaited_deletions(WEB) == {"ns/pending", "ns/unready"}


async def test_a_pod_that_was_gone_already_is_not_awaited_and_no_error() -> None:
    rc = make_owner(0)
    world = World(rc, make_pod("a", rc), make_pod("b", rc))

    def gone(name: str) -> None:
        if name == "a":
            raise not_found()

    world.pods.on_delete = gone

    await world.sync()

    assert world.manager.expectations.awaited_deletions(WEB) == {"ns/b"}


async def test_a_refused_delete_fails_the_sync_after_all_others_were_tried() -> None:
    rc = make_owner(0)
    world = World(rc, make_pod("a", rc), make_pod("b", rc))

    def refuse(name: str) -> None:
        if name == "a":
            raise forbidden("no")

    world.pods.on_delete = refuse

    with pytest.raises(Exception, match="no"):
        await world.sync()

    assert sorted(world.pods.deleted) == ["a", "b"]
    assert world.server.statuses[0].conditions[0].reason == "FailedDelete"


async def test_related_pods_on_a_node_count_under_a_common_controller() -> None:
    reference = V1OwnerReference(api_version="v1", kind="DeploymentConfig", name="dc", uid="uid-dc", controller=True)
    rc, sibling = make_owner(1), make_owner(1, "sibling")
    for owned in (rc, sibling):
        owned.metadata.owner_references = [reference]
    lonely, crowded = make_pod("lonely", rc), make_pod("crowded", rc)
    crowded.spec.node_name, neighbour = "n2", make_pod("neighbour", sibling, app="sibling")
    neighbour.spec.node_name = "n2"
    world = World(rc, lonely, crowded, neighbour)
    world.informers.informer_for(World.kind.model).indexer.add(sibling)

    await world.sync()

    assert world.pods.deleted == ["crowded"]


async def test_orphans_are_adopted_before_pods_are_made() -> None:
    world = World(make_owner(3), make_pod("orphan"), make_pod("stranger", app="other"))

    await world.sync()

    assert [name for name, _ in world.pods.patches] == ["orphan"]
    assert len(world.pods.created) == 2
    assert world.server.statuses[0].replicas == 1


async def test_nothing_is_adopted_when_the_server_knows_that_the_controller_is_going() -> None:
    world = World(make_owner(1), make_pod("orphan"))
    fresh = make_owner(1)
    fresh.metadata.deletion_timestamp = world.clock.now()
    world.server.fresh = fresh

    with pytest.raises(ExceptionGroup, match="could not claim"):
        await world.sync()

    assert (world.pods.patches, world.pods.created) == ([], [])


async def test_a_pod_that_no_longer_matches_is_released_and_replaced() -> None:
    rc = make_owner(1)
    world = World(rc, make_pod("lost", rc, app="other"))

    await world.sync()

    assert [name for name, _ in world.pods.patches] == ["lost"]
    assert len(world.pods.created) == 1


async def test_a_controller_that_is_being_deleted_makes_and_removes_nothing() -> None:
    rc = make_owner(5)
    rc.metadata.deletion_timestamp = FakeClock().now()
    world = World(rc, make_pod("a", rc))

    await world.sync()

    assert (world.pods.created, world.pods.deleted) == ([], [])
    assert world.server.statuses[0].replicas == 1


async def test_a_controller_that_is_gone_is_forgotten() -> None:
    world = World(None)
    world.manager.expectations.expect(WEB, creations=1)

    assert await world.sync() is None

    assert world.manager.expectations.satisfied(WEB)


async def test_ended_and_terminating_pods_do_not_count() -> None:
    rc = make_owner(1)
    now = FakeClock().now()
    world = World(
        rc, make_pod("a", rc, phase="Failed"), make_pod("b", rc, phase="Succeeded"), make_pod("c", rc, deleted_at=now)
    )

    await world.sync()

    assert len(world.pods.created) == 1


async def test_the_status_is_written_only_when_it_says_something_new() -> None:
    rc = make_owner(1)
    world = World(rc, make_pod("a", rc))
    await world.sync()
    rc.status = world.server.statuses[0]

    await world.sync()
    assert len(world.server.statuses) == 1

    rc.metadata.generation = 2
    await world.sync()
    assert world.server.statuses[-1].observed_generation == 2


async def test_a_conflict_is_retried_once_with_the_generation_acted_on() -> None:
    rc = make_owner(0)
    world = World(rc)
    fresh = make_owner(4)
    fresh.metadata.generation = 7
    world.server.fresh = fresh
    world.server.update_errors = [conflict()]

    await world.sync()

    first, second = world.server.updated
    assert (first.metadata.resource_version, second.metadata.resource_version) == (
        rc.metadata.resource_version,
        fresh.metadata.resource_version,
    )
    assert world.server.statuses[0].observed_generation == 1
    assert rc.status.observed_generation is None


async def test_a_second_conflict_fails_the_sync() -> None:
    world = World(make_owner(0))
    world.server.update_errors = [conflict(), conflict()]

    with pytest.raises(Exception, match="modified"):
        await world.sync()


async def test_it_looks_again_when_the_next_pod_becomes_available() -> None:
    rc = make_owner(2, min_ready_seconds=30)
    now = FakeClock().now()
    world = World(
        rc,
        make_pod("a", rc, ready_since=now - timedelta(seconds=10)),
        make_pod("b", rc, ready_since=now - timedelta(seconds=40)),
    )

    assert await world.sync() == 20
    assert (world.server.statuses[0].ready_replicas, world.server.statuses[0].available_replicas) == (2, 1)


async def test_by_labels_every_pod_that_matches_counts_and_none_is_owned() -> None:
    rc = make_owner(4)
    world = World(rc, make_pod("orphan"), make_pod("of-another", make_owner(name="other")), by_labels=True)

    await world.sync()

    assert world.pods.patches == []
    assert len(world.pods.created) == 2
    assert world.pods.created[0].metadata.owner_references is None
    assert world.server.statuses[0].replicas == 2


async def test_five_are_synced_at_once_unless_the_flag_says_otherwise(kind: ReplicaKind[Any]) -> None:
    make, flag = {
        "replicationcontroller": (make_replicationcontroller, "concurrent_rc_syncs"),
        "replicaset": (make_replicaset, "concurrent_replicaset_syncs"),
    }[kind.name]
    async with connect(url="http://127.0.0.1:1") as client:
        for options, workers in (({}, 5), ({flag: 2}, 2)):
            context = ControllerContext(client, SharedInformerFactory(client), options)
            assert make(context).workers == workers


async def test_an_owner_recreated_during_a_sync_ignores_old_pods() -> None:
    old = make_owner(2)
    world = World(old)
    owners = world.informers.informer_for(World.kind.model).indexer

    def replace() -> None:
        owners.add(make_owner(2, uid="anew"))

    world.pods.on_create = replace
    await world.sync()
    await world.sync()

    assert [pod.metadata.owner_references[0].uid for pod in world.pods.created] == ["uid-web"] * 2 + ["anew"] * 2


async def test_a_status_is_never_written_onto_a_namesake() -> None:
    world = World(make_owner(0))
    world.server.fresh = make_owner(0, uid="anew")
    world.server.update_errors = [conflict()]

    with pytest.raises(ObjectReplaced, match="ns/web was deleted and created again: got uid anew, want uid-web"):
        await world.sync()

    assert len(world.server.updated) == 1


async def test_an_orphan_that_the_cache_shows_as_adopted_meanwhile_counts_once() -> None:
    rc = make_owner(2)
    world = World(rc, make_pod("orphan"), make_pod("orphan-2"))

    def adopted(name: str) -> None:
        # The watch is quick: the patch is in the cache before the next orphan is looked at.
        world.add(make_pod(name, rc))

    world.pods.on_patch = adopted

    await world.sync()

    assert (world.pods.created, world.pods.deleted) == ([], [])
    assert world.server.statuses[0].replicas == 2


async def test_an_unknown_selector_is_logged_once_and_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(World, "kind", REPLICA_SETS)
    rs = make_owner(1)
    rs.spec.selector = V1LabelSelector(match_expressions=[{"key": "a", "operator": "Sometimes"}])
    world = World(rs)

    with capture_logs() as logs:
        await world.sync()

    assert (world.pods.created, world.server.statuses) == ([], [])
    assert [log["event"] for log in logs if log["log_level"] == "error"] == ["selector_not_understood"]


async def test_terminating_pods_count_where_the_status_shows_them() -> None:
    rc = make_owner(1)
    now = FakeClock().now()
    world = World(
        rc,
        make_pod("a", rc),
        make_pod("going", rc, deleted_at=now),
        make_pod("ended", rc, phase="Failed", deleted_at=now),
        make_pod("of-nobody", deleted_at=now),
        make_pod("no-longer-matching", rc, app="other", deleted_at=now),
    )

    await world.sync()

    (status,) = world.server.statuses
    if World.kind is REPLICA_SETS:
        assert status.terminating_replicas == 1
    else:
        assert not hasattr(status, "terminating_replicas")
