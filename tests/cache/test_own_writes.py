"""A cache is compared with what was written, and is waited for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import anyio
import pytest

from kinformer.cache import Indexer, InformerOptions, ListWatch, SharedIndexInformer
from kinformer.cache.catching_up import CATCH_UP_TIMEOUT, CacheBehind
from kinformer.cache.own_writes import shows
from kinformer.cache.testing import FakeControllerSource
from kinformer.client import Status, Writes, noting_writes
from kinformer.client.status import StatusDetails
from kinformer.client.writes import note_deletion, note_write
from kinformer.clock import FakeClock
from kinformer.meta import GroupResource, GroupVersionResource, accessor_for
from kinformer.models import V1Pod
from tests.cache.informers import running
from tests.controllers.objects import make_pod

PODS = GroupVersionResource("", "v1", "pods")


class Cache:
    """A cache of pods, whose versions the tests set."""

    name, resource = "pods", PODS

    def __init__(self, *namespaces: str, **selectors: str) -> None:
        self.namespaces = namespaces
        self.lister_watchers = [ListWatch(cast("Any", None), **selectors)]
        self.indexer: Indexer[V1Pod] = Indexer(accessor_for(V1Pod).key)

    def comes_to(self, version: int, name: str = "a", uid: str = "uid-a") -> None:
        self.indexer.add(pod_at(version, name, uid))


def pod_at(version: int, name: str = "a", uid: str = "uid-a") -> V1Pod:
    pod = make_pod(name)
    pod.metadata.uid, pod.metadata.resource_version = uid, str(version)
    return pod


def wrote(*versions: int, name: str = "a", resource: GroupResource = PODS.group_resource) -> Writes:
    with noting_writes() as writes:
        for version in versions:
            note_write(resource, pod_at(version, name))
    return writes


def deleted(name: str = "a", uid: str = "uid-a") -> Writes:
    with noting_writes() as writes:
        note_deletion(PODS.group_resource, "ns", name, Status(status="Success", details=StatusDetails(uid=uid)))
    return writes


def test_a_cache_shows_a_write_once_it_has_reached_the_newest_version() -> None:
    cache, writes = Cache(), wrote(10, 9)
    cache.comes_to(8)
    assert not shows(cache, writes)
    cache.comes_to(9)
    assert not shows(cache, writes)
    cache.comes_to(11, "somebody-elses", "uid-b")
    assert shows(cache, writes)


def test_a_cache_shows_a_write_once_it_has_that_very_object() -> None:
    cache, writes = Cache(), wrote(10)
    cache.comes_to(10)
    cache.indexer.bookmark("3")

    assert shows(cache, writes)


def test_a_cache_that_has_had_no_list_shows_no_write() -> None:
    cache, writes = Cache(), wrote(10)

    assert not shows(cache, writes)


def test_a_bookmark_shows_that_a_write_has_come_and_gone() -> None:
    cache, writes = Cache(), wrote(10)
    cache.comes_to(7, uid="earlier")
    cache.indexer.delete(pod_at(8, uid="earlier"))
    assert not shows(cache, writes)

    cache.indexer.bookmark("11")
    assert shows(cache, writes)


def test_a_deletion_is_shown_once_that_very_object_is_gone() -> None:
    cache, writes = Cache(), deleted()
    cache.comes_to(8)
    assert not shows(cache, writes)

    cache.comes_to(9, uid="another")
    assert shows(cache, writes)


def test_a_deletion_that_a_finalizer_delays_is_shown_once_it_has_begun() -> None:
    cache, writes = Cache(), deleted()
    cache.comes_to(8)
    assert not shows(cache, writes)

    going = pod_at(9)
    going.metadata.deletion_timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    cache.indexer.add(going)
    assert shows(cache, writes)


def test_writes_of_another_kind_are_not_looked_for() -> None:
    assert shows(Cache(), wrote(10, resource=GroupResource("apps", "replicasets")))


def test_writes_in_a_namespace_outside_the_cache_are_not_awaited() -> None:
    assert shows(Cache("other"), wrote(10))
    assert not shows(Cache("other", "ns"), wrote(10))


def test_an_object_that_the_cache_does_not_select_is_not_looked_for() -> None:
    assert shows(Cache(label_selector="app=another"), wrote(10))
    assert shows(Cache(field_selector="metadata.name=b"), wrote(10))
    assert not shows(Cache(label_selector="app=web"), wrote(10))
    assert not shows(Cache(field_selector="metadata.name=a,spec.nodeName=n"), wrote(10))


def test_an_object_no_longer_selected_is_awaited_until_it_leaves() -> None:
    cache, writes = Cache(label_selector="app=another"), wrote(10)
    cache.comes_to(8)
    assert not shows(cache, writes)

    cache.indexer.delete(pod_at(8))
    assert shows(cache, writes)


def test_versions_that_are_no_numbers_are_not_waited_for() -> None:
    with noting_writes() as writes:
        made = make_pod("a")
        made.metadata.resource_version = "abc"
        note_write(PODS.group_resource, made)

    assert shows(Cache(), writes)


def test_a_caller_may_ask_for_the_writes_of_one_namespace() -> None:
    assert not shows(Cache(), wrote(10), "ns")
    assert shows(Cache(), wrote(10), "other")


async def test_a_list_shows_a_write_that_came_and_went_before_it() -> None:
    clock = FakeClock()
    source: FakeControllerSource[V1Pod] = FakeControllerSource(V1Pod)
    pods = SharedIndexInformer(source, V1Pod, resource=PODS, clock=clock, options=InformerOptions(random=lambda: 0.0))
    async with running(pods.run):
        await clock.settle()
        with noting_writes() as writes:
            note_write(PODS.group_resource, source.add(make_pod("a"), silently=True))
        source.delete("ns/a", silently=True)
        assert not shows(pods, writes)

        source.reset_watch()
        await clock.advance(2)
        assert shows(pods, writes)


async def test_a_caller_waits_until_the_cache_shows_its_writes() -> None:
    clock, done = FakeClock(), list[str]()
    source: FakeControllerSource[V1Pod] = FakeControllerSource(V1Pod)
    source.add(make_pod("there"))
    pods = SharedIndexInformer(source, V1Pod, resource=PODS, clock=clock)

    async def act() -> None:
        await pods.wait_for_own_writes()
        with noting_writes():
            made = source.add(make_pod("a"), silently=True)
            note_write(PODS.group_resource, made)
            await pods.wait_for_own_writes(namespace="other")
            done.append("of another namespace")
            await pods.wait_for_own_writes()
            done.append("own")

    async with running(pods.run), anyio.create_task_group() as tasks:
        await clock.settle()
        tasks.start_soon(act)
        await clock.advance(1)
        assert done == ["of another namespace"]

        source.add(make_pod("b"))
        await clock.advance(0.2)
        assert done == ["of another namespace", "own"]


async def test_a_caller_gets_an_error_if_the_cache_lacks_its_writes() -> None:
    clock, errors = FakeClock(), list[str]()
    source: FakeControllerSource[V1Pod] = FakeControllerSource(V1Pod)
    pods = SharedIndexInformer(source, V1Pod, name="pods", resource=PODS, clock=clock)

    async def act() -> None:
        with noting_writes():
            note_write(PODS.group_resource, source.add(make_pod("a"), silently=True))
            with pytest.raises(CacheBehind) as caught:
                await pods.wait_for_own_writes()
            errors.append(str(caught.value))

    async with running(pods.run), anyio.create_task_group() as tasks:
        await clock.settle()
        tasks.start_soon(act)
        await clock.advance(CATCH_UP_TIMEOUT - 0.1)
        assert errors == []
        await clock.advance(0.2)
        assert errors == ["the cache of informer pods does not show own writes after 10 s"]
