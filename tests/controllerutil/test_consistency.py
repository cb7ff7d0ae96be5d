from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kinformer.cache import Indexer, InformerOptions, SharedIndexInformer
from kinformer.cache.testing import FakeControllerSource
from kinformer.clock import FakeClock
from kinformer.controllerutil.consistency import LOOK_AGAIN, WAIT_TIMEOUT, ConsistencyStore
from kinformer.controllerutil.owning import OwnerId
from kinformer.meta import GroupResource, accessor_for
from kinformer.models import V1Pod
from tests.cache.informers import running
from tests.controllers.objects import make_pod

PODS = GroupResource("", "pods")
OWNER = OwnerId("ns/web", "u1")


class Seen:
    """A store over a cache of pods, whose versions the tests set."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.pods: Indexer[V1Pod] = Indexer(accessor_for(V1Pod).key)
        self.store = ConsistencyStore({PODS: self.pods}, self.clock)

    def comes_to(self, version: int, name: str = "a") -> None:
        self.pods.add(pod_at(version, name))


def pod_at(version: int, name: str = "a", uid: str = "uid-a") -> V1Pod:
    pod = make_pod(name)
    pod.metadata.uid, pod.metadata.resource_version = uid, str(version)
    return pod


@pytest.fixture
def seen() -> Seen:
    return Seen()


def test_who_has_written_nothing_need_not_wait(seen: Seen) -> None:
    assert seen.store.wait(OWNER.key) is None


def test_an_owner_waits_until_the_cache_has_come_to_the_newest_of_its_writes(seen: Seen) -> None:
    seen.comes_to(8)
    seen.store.wrote(OWNER, PODS, "10")
    seen.store.wrote(OWNER, PODS, "9")

    assert seen.store.wait(OWNER.key) == LOOK_AGAIN
    seen.comes_to(9)
    assert seen.store.wait(OWNER.key) == LOOK_AGAIN
    seen.comes_to(11, "somebody-elses")
    assert seen.store.wait(OWNER.key) is None
    seen.pods.bookmark("5")
    assert seen.store.wait(OWNER.key) is None


def test_a_cache_that_has_had_no_list_yet_shows_no_write(seen: Seen) -> None:
    seen.store.wrote(OWNER, PODS, "10")

    assert seen.store.wait(OWNER.key) == LOOK_AGAIN
    seen.comes_to(10)
    assert seen.store.wait(OWNER.key) is None


def test_a_bookmark_brings_the_cache_up_to_date_too(seen: Seen) -> None:
    seen.comes_to(8)
    seen.store.wrote(OWNER, PODS, "10")

    seen.pods.bookmark("10")

    assert seen.store.wait(OWNER.key) is None


def test_what_was_deleted_is_waited_for_until_that_very_object_has_gone(seen: Seen) -> None:
    seen.comes_to(8)
    seen.store.deleted(OWNER, PODS, "ns/a", "uid-a")

    assert seen.store.wait(OWNER.key) == LOOK_AGAIN
    anew = make_pod("a")
    anew.metadata.uid = "another"
    seen.pods.add(anew)
    assert seen.store.wait(OWNER.key) is None


def test_what_was_deleted_and_is_kept_by_a_finalizer_is_waited_for_until_it_is_seen_to_go(seen: Seen) -> None:
    seen.comes_to(8)
    seen.store.deleted(OWNER, PODS, "ns/a", "uid-a")
    assert seen.store.wait(OWNER.key) == LOOK_AGAIN

    going = pod_at(9)
    going.metadata.deletion_timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    seen.pods.add(going)
    assert seen.store.wait(OWNER.key) is None


def test_an_object_that_was_written_is_waited_for_until_the_cache_shows_it_so_or_newer(seen: Seen) -> None:
    seen.comes_to(8)
    seen.store.wrote_object(OWNER, PODS, pod_at(10))

    seen.comes_to(12, "somebody-elses")
    assert seen.store.wait(OWNER.key) == LOOK_AGAIN
    seen.comes_to(11)
    seen.pods.bookmark("3")
    assert seen.store.wait(OWNER.key) is None


async def test_after_a_list_no_owner_waits_for_a_write_that_came_and_went_before_it() -> None:
    clock = FakeClock()
    source: FakeControllerSource[V1Pod] = FakeControllerSource(V1Pod)
    pods = SharedIndexInformer(source, V1Pod, clock=clock, options=InformerOptions(random=lambda: 0.0))
    seen = ConsistencyStore({PODS: pods.indexer}, clock)
    async with running(pods.run):
        await clock.settle()
        made = source.add(make_pod("a"), silently=True)
        seen.wrote(OWNER, PODS, made.metadata.resource_version)
        source.delete("ns/a", silently=True)
        assert seen.wait(OWNER.key) == LOOK_AGAIN

        source.reset_watch()
        await clock.advance(2)
        assert seen.wait(OWNER.key) is None


def test_an_object_that_was_made_is_waited_for_in_a_cache_that_knows_no_version(seen: Seen) -> None:
    seen.store.wrote_object(OWNER, PODS, pod_at(10))

    assert seen.store.wait(OWNER.key) == LOOK_AGAIN


def test_an_object_that_was_made_and_is_gone_again_is_not_waited_for(seen: Seen) -> None:
    seen.store.wrote_object(OWNER, PODS, pod_at(10))
    seen.pods.add(pod_at(7, uid="earlier"))
    assert seen.store.wait(OWNER.key) == LOOK_AGAIN
    seen.pods.delete(pod_at(8, uid="earlier"))
    assert seen.store.wait(OWNER.key) == LOOK_AGAIN

    seen.pods.bookmark("11")
    assert seen.store.wait(OWNER.key) is None


def test_an_object_whose_version_is_no_number_is_not_waited_for_where_it_cannot_be_told(seen: Seen) -> None:
    made = pod_at(1)
    made.metadata.resource_version = "abc"
    seen.store.wrote_object(OWNER, PODS, made)

    assert seen.store.wait(OWNER.key) is None


def test_an_owner_that_was_held_back_is_told_once_when_the_cache_has_caught_up(seen: Seen) -> None:
    seen.comes_to(8)
    seen.store.wrote_object(OWNER, PODS, pod_at(10))
    seen.store.wrote_object(OWNER, PODS, pod_at(11, "b", "uid-b"))
    assert seen.store.wait(OWNER.key) == LOOK_AGAIN

    seen.comes_to(10)
    assert not seen.store.caught_up(OWNER.key)
    seen.pods.add(pod_at(11, "b", "uid-b"))
    assert seen.store.caught_up(OWNER.key)
    assert not seen.store.caught_up(OWNER.key)
    assert seen.store.wait(OWNER.key) is None


def test_an_owner_that_was_not_held_back_is_told_of_nothing_and_does_not_wait_for_what_is_undone(seen: Seen) -> None:
    seen.store.wrote_object(OWNER, PODS, pod_at(10))
    seen.comes_to(10)

    assert not seen.store.caught_up(OWNER.key)
    seen.pods.delete(pod_at(10))
    seen.pods.bookmark("3")
    assert seen.store.wait(OWNER.key) is None


def test_one_owner_does_not_wait_for_anothers_writes_nor_for_those_of_its_namesake(seen: Seen) -> None:
    seen.comes_to(8)
    seen.store.wrote(OWNER, PODS, "10")
    assert seen.store.wait("ns/other") is None

    seen.store.wrote(OwnerId(OWNER.key, "u2"), PODS, "7")
    assert seen.store.wait(OWNER.key) is None


def test_an_owner_that_is_gone_is_forgotten_and_its_namesake_is_not(seen: Seen) -> None:
    seen.comes_to(8)
    seen.store.wrote(OWNER, PODS, "10")

    seen.store.forget(OWNER.key, "u0")
    assert seen.store.wait(OWNER.key) == LOOK_AGAIN
    seen.store.forget(OWNER.key, "u1")
    assert seen.store.wait(OWNER.key) is None


def test_writes_that_no_cache_will_ever_show_are_not_waited_for(seen: Seen) -> None:
    seen.store.wrote(OWNER, GroupResource("apps", "replicasets"), "10")

    assert seen.store.wait(OWNER.key) is None


def test_after_five_minutes_the_cache_is_taken_at_its_word(seen: Seen) -> None:
    seen.comes_to(8)
    seen.store.wrote(OWNER, PODS, "10")

    assert WAIT_TIMEOUT == 300
    seen.clock.turn(WAIT_TIMEOUT)
    assert seen.store.wait(OWNER.key) == LOOK_AGAIN
    seen.clock.turn(0.001)
    assert seen.store.wait(OWNER.key) is None


def test_who_cannot_wait_so_long_takes_the_cache_at_its_word_earlier(seen: Seen) -> None:
    store = ConsistencyStore({PODS: seen.pods}, seen.clock, timeout=60)
    store.wrote_object(OWNER, PODS, pod_at(10))

    seen.clock.turn(60)
    assert store.wait(OWNER.key) == LOOK_AGAIN
    seen.clock.turn(0.001)
    assert store.wait(OWNER.key) is None
