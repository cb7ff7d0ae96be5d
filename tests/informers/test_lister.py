from __future__ import annotations

import anyio
import pytest

from kinformer.cache import NAMESPACE_INDEX, SharedIndexInformer
from kinformer.cache.index import namespace_index_func
from kinformer.cache.testing import FakeControllerSource
from kinformer.client import NotFound, noting_writes
from kinformer.client.writes import note_write
from kinformer.clock import FakeClock
from kinformer.informers import Lister
from kinformer.meta import GroupResource, GroupVersionResource, accessor_for, parse_selector
from kinformer.models import V1Pod, from_dict
from tests.cache.informers import running


def pod(name: str, namespace: str, **labels: str) -> V1Pod:
    return from_dict(V1Pod, {"metadata": {"name": name, "namespace": namespace, "labels": labels}})


@pytest.fixture
def lister() -> Lister[V1Pod]:
    by_namespace = {NAMESPACE_INDEX: namespace_index_func(accessor_for(V1Pod))}
    pods = SharedIndexInformer(FakeControllerSource(V1Pod), V1Pod, indexers=by_namespace)
    for one in (pod("a", "x", app="web"), pod("b", "x", app="db"), pod("a", "y", app="web"), pod("node-like", "")):
        pods.indexer.add(one)
    return Lister(pods, GroupResource("", "pods"))


def names(pods: list[V1Pod]) -> list[str]:
    return sorted(f"{one.metadata.namespace}/{one.metadata.name}" for one in pods)


def test_listing_gives_everything_or_what_a_selector_matches(lister: Lister[V1Pod]) -> None:
    assert len(lister.list()) == 4
    assert names(lister.list(parse_selector("app=web"))) == ["x/a", "y/a"]


def test_listing_a_namespace_gives_what_is_in_it(lister: Lister[V1Pod]) -> None:
    assert names(lister.namespace("x").list()) == ["x/a", "x/b"]
    assert names(lister.namespace("x").list(parse_selector("app in (db)"))) == ["x/b"]
    assert lister.namespace("nowhere").list() == []


def test_the_empty_namespace_stands_for_all(lister: Lister[V1Pod]) -> None:
    assert len(lister.namespace("").list()) == 4


def test_getting_gives_the_caches_own_object(lister: Lister[V1Pod]) -> None:
    assert lister.namespace("y").get("a") is lister.namespace("y").get("a")
    assert lister.get("node-like").metadata.name == "node-like"


def test_getting_what_is_not_there_is_the_servers_own_error(lister: Lister[V1Pod]) -> None:
    with pytest.raises(NotFound) as error:
        lister.namespace("x").get("c")

    assert str(error.value) == 'pods "c" not found'
    assert error.value.code == 404


async def test_a_lister_waits_for_the_callers_writes_if_asked() -> None:
    clock = FakeClock()
    source: FakeControllerSource[V1Pod] = FakeControllerSource(V1Pod)
    source.add(pod("there", "x"))
    pods = SharedIndexInformer(source, V1Pod, resource=GroupVersionResource("", "v1", "pods"), clock=clock)
    lister = Lister(pods, GroupResource("", "pods"))
    async with running(pods.run):
        await clock.settle()
        with noting_writes():
            note_write(GroupResource("", "pods"), source.add(pod("new", "x")))
            with pytest.raises(NotFound):
                lister.namespace("x").get("new")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(clock.advance, 1)
                await lister.wait_for_own_writes(namespace="x")
            assert lister.namespace("x").get("new").metadata.name == "new"
