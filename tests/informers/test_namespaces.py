"""One informer holds the objects of several namespaces, as if it held those of one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.cache import (
    CacheNotSynced,
    DeletedFinalStateUnknown,
    InformerOptions,
    ResourceEventHandlerFuncs,
    SharedIndexInformer,
    deletion_handling_key,
)
from kinformer.cache.catching_up import CacheBehind
from kinformer.cache.testing import FakeControllerSource
from kinformer.client import Client, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, eventually, running, service_account_token
from kinformer.informers import NotCached, Reader, Selection, SharedInformerFactory
from kinformer.manager import Manager, OptionError
from kinformer.models import V1ConfigMap, V1Namespace, V1Node, V1ReplicaSet, V1ServiceAccount, from_dict
from tests.informers.test_factory import CONFIG_MAPS, config_map
from tests.metrics import metric_value
from tests.turning import quiet, turn


class World:
    """A server with the namespaces a, b and c, whose clock the test turns."""

    def __init__(self, server: ApiServer, client: Client, clock: FakeClock) -> None:
        self.server = server
        self.client = client
        self.clock = clock
        self.maps = client.resource(V1ConfigMap)

    @asynccontextmanager
    async def informer(
        self, namespaces: Sequence[str] | Mapping[str, Selection] = ("a", "b"), **options: Any
    ) -> AsyncIterator[SharedIndexInformer[V1ConfigMap]]:
        """The informer of the config maps, once it has synced."""
        async with SharedInformerFactory(self.client, namespaces=namespaces, clock=self.clock, **options) as informers:
            informer = informers.informer_for(V1ConfigMap)
            informers.start()
            await informers.wait_for_cache_sync()
            yield informer

    async def write(self, key: str, **labels: str) -> V1ConfigMap:
        namespace, name = key.split("/")
        return await self.maps.create(config_map(name, namespace, **labels))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = FakeClock()
    async with (
        ApiServer(plugins=False, seed=1, clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        for name in "abc":
            await client.resource(V1Namespace).create({"metadata": {"name": name}})
        yield World(server, client, clock)


def version_of(obj: Any) -> str:
    version = obj.metadata.resource_version
    assert isinstance(version, str)
    return version


async def test_the_copy_holds_what_is_in_the_namespaces_and_nothing_else(world: World) -> None:
    for key in ("a/one", "b/two", "c/three"):
        await world.write(key)
    async with world.informer() as maps:
        await world.write("b/four")
        await world.write("c/five")
        await quiet()

        assert sorted(maps.indexer.list_keys()) == ["a/one", "b/four", "b/two"]
        assert [obj.metadata.name for obj in maps.indexer.by_index("namespace", "a")] == ["one"]
        assert maps.namespaces == ("a", "b")


async def test_kinds_that_belong_to_no_namespace_are_had_whole_by_one_watch(world: World) -> None:
    await world.client.resource(V1Node).create(from_dict(V1Node, {"metadata": {"name": "n"}}))
    async with SharedInformerFactory(world.client, namespaces=["a", "b"], clock=world.clock) as informers:
        nodes = informers.informer_for(V1Node)
        informers.start()
        await informers.wait_for_cache_sync()

        assert nodes.indexer.list_keys() == ["n"]
        assert (len(nodes.feeds), nodes.namespaces) == (1, ())


async def test_a_namespace_that_is_named_twice_is_watched_once(world: World) -> None:
    await world.write("a/one")
    async with world.informer(["a", "b", "a"]) as maps:
        assert maps.indexer.list_keys() == ["a/one"]
        assert [feed.name for feed in maps.feeds] == ["configmaps in a", "configmaps in b"]


async def test_one_handler_is_told_of_all_of_them_and_has_synced_once(world: World) -> None:
    told: list[tuple[str, str, bool]] = []
    await world.write("a/one")
    await world.write("b/two")
    async with world.informer() as maps:
        registration = maps.add_event_handler(
            ResourceEventHandlerFuncs(
                add=lambda obj: told.append(("add", obj.metadata.name, registration.has_synced)),
                delete=lambda obj: told.append(("delete", deletion_handling_key(obj), registration.has_synced)),
            )
        )
        await registration.wait_synced()
        await world.maps.delete("one", "a")
        await quiet()

        assert told == [("add", "one", False), ("add", "two", False), ("delete", "a/one", True)]


async def test_a_handler_from_the_start_has_synced_when_all_namespaces_are_listed(world: World) -> None:
    await world.write("a/one")
    world.server.faults.refuse(500, times=2, matching=lambda call: call.namespace == "b")
    async with SharedInformerFactory(world.client, namespaces=["a", "b"], clock=world.clock) as informers:
        maps = informers.informer_for(V1ConfigMap)
        registration = maps.add_event_handler(ResourceEventHandlerFuncs())
        informers.start()
        await quiet()
        assert maps.indexer.list_keys() == ["a/one"]
        assert not maps.has_synced
        assert not registration.has_synced

        await turn(world.clock, 10)
        assert maps.has_synced
        assert registration.has_synced


async def test_a_list_of_one_namespace_takes_nothing_from_another(world: World) -> None:
    gone: list[Any] = []
    for key in ("a/one", "a/two", "b/three"):
        await world.write(key)
    async with world.informer() as maps:
        maps.add_event_handler(ResourceEventHandlerFuncs(delete=gone.append))
        await quiet()
        await world.write("a/four")  # what a list brings is told apart by its version
        await quiet()
        world.server.faults.stall_watches()
        world.server.faults.cut_watches()
        await world.maps.delete("one", "a")
        world.server.faults.compact()
        world.server.faults.resume_watches()
        await turn(world.clock, 60)

        assert sorted(maps.indexer.list_keys()) == ["a/four", "a/two", "b/three"]
        assert maps.lists > 1
        assert [obj.key for obj in gone if isinstance(obj, DeletedFinalStateUnknown)] == ["a/one"]
        assert len(gone) == 1


async def test_a_forbidden_namespace_is_reported_and_stops_no_other(world: World) -> None:
    await world.write("a/one")
    await world.write("b/two")
    token = await allowed_in(world.client, "a")
    async with (
        connect(url=world.server.url, token=token, clock=world.clock) as limited,
        SharedInformerFactory(limited, namespaces=["a", "b"], clock=world.clock) as informers,
    ):
        maps = informers.informer_for(V1ConfigMap)
        informers.start()

        async def give_up() -> None:
            with pytest.raises(CacheNotSynced, match=r"configmaps is forbidden.*in the namespace \"b\"") as late:
                await informers.wait_for_cache_sync(timeout=3)
            assert late.value.late == ("configmaps",)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(give_up)
            await turn(world.clock, 5)
        assert maps.indexer.list_keys() == ["a/one"]
        assert not maps.is_following
        failures = {"name": "configmaps in b", "error": "Forbidden"}
        assert (metric_value("informer_failures_total", failures) or 0) > 0

        await world.write("a/three")
        await quiet()
        assert sorted(maps.indexer.list_keys()) == ["a/one", "a/three"]

        await allowed_in(world.client, "b", account="a")
        await turn(world.clock, 120)
        assert sorted(maps.indexer.list_keys()) == ["a/one", "a/three", "b/two"]
        assert maps.is_following


async def allowed_in(client: Client, namespace: str, *, account: str = "") -> str:
    """A token of a service account of namespace a that may read the config maps of a namespace."""
    rbac = ("rbac.authorization.k8s.io", "v1")
    if not account:
        await client.resource(V1ServiceAccount).create({"metadata": {"name": "reader", "namespace": "a"}})
    await client.resource(dict, (*rbac, "roles")).create(
        {
            "metadata": {"name": "reader", "namespace": namespace},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}],
        }
    )
    await client.resource(dict, (*rbac, "rolebindings")).create(
        {
            "metadata": {"name": "reader", "namespace": namespace},
            "roleRef": {"apiGroup": rbac[0], "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "a"}],
        }
    )
    return await service_account_token(client, "a", "reader")


async def test_a_write_is_waited_for_in_its_own_namespace_alone(world: World) -> None:
    async with world.informer() as maps:
        written = await world.write("a/one")
        await quiet()
        # Nothing has come of namespace b: the copy as a whole is at the version of its list.
        assert int(maps.last_sync_resource_version) < int(version_of(written))

        await maps.wait_for_version(version_of(written), namespace="a")
        assert maps.indexer.get_by_key("a/one") is not None


async def test_without_a_namespace_the_server_is_asked_for_the_others(world: World) -> None:
    async with world.informer() as maps, anyio.create_task_group() as tasks:
        written = await world.write("a/one")
        over: list[bool] = []

        async def wait() -> None:
            await maps.wait_for_version(version_of(written))
            over.append(True)

        tasks.start_soon(wait)
        await turn(world.clock, 0.5)
        assert not over
        await turn(world.clock, 1)
        assert over


async def test_a_feed_that_does_not_come_to_a_version_is_named(world: World) -> None:
    async with world.informer() as maps:
        world.server.faults.stall_watches()
        written = await world.write("b/one")
        behind: list[str] = []

        async def wait() -> None:
            try:
                await maps.wait_for_version(version_of(written), namespace="b", timeout=3)
            except CacheBehind as error:
                behind.append(str(error))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await turn(world.clock, 4)
        assert behind[0].startswith("the cache of informer configmaps in b is at version")


async def test_the_stores_version_is_that_of_the_slowest_namespace(world: World) -> None:
    await world.write("a/one")
    async with world.informer() as maps:
        listed = maps.store_resource_version
        await world.write("a/two")
        await quiet()
        assert maps.store_resource_version == listed

        # What is asked about one namespace need not wait for another.
        assert int(maps.indexer.last_store_sync_resource_version("a")) > int(listed)
        assert maps.indexer.last_store_sync_resource_version("b") == listed

        written = await world.write("b/three")
        await quiet()
        assert int(listed) < int(maps.store_resource_version) < int(version_of(written))


async def test_a_resync_tells_of_the_objects_of_all_namespaces_once() -> None:
    clock, told = FakeClock(), list[str]()
    sources = {name: FakeControllerSource(V1ConfigMap) for name in "ab"}
    for name, source in sources.items():
        source.add(config_map("one", name))
    informer = SharedIndexInformer(sources, V1ConfigMap, clock=clock, resync_period=30)
    informer.add_event_handler(ResourceEventHandlerFuncs(update=lambda _, obj: told.append(obj.metadata.namespace)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(informer.run)
        await informer.wait_synced()
        for _ in range(3):
            told.clear()
            await clock.advance(30)
            assert sorted(told) == ["a", "b"]
        tasks.cancel_scope.cancel()


async def test_each_handler_has_a_resync_period_of_its_own_over_all_namespaces() -> None:
    clock, told = FakeClock(), list[tuple[str, int]]()
    sources = {name: FakeControllerSource(V1ConfigMap) for name in "ab"}
    for name, source in sources.items():
        source.add(config_map("one", name))
    informer = SharedIndexInformer(sources, V1ConfigMap, clock=clock, resync_period=30)
    for period in (30, 60):

        def update(_: V1ConfigMap, obj: V1ConfigMap, period: int = period) -> None:
            told.append((obj.metadata.namespace, period))

        informer.add_event_handler(ResourceEventHandlerFuncs(update=update), resync_period=period)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(informer.run)
        await informer.wait_synced()
        await clock.advance(30)
        assert sorted(told) == [("a", 30), ("b", 30)]
        await clock.advance(30)
        assert sorted(told) == [("a", 30), ("a", 30), ("a", 60), ("b", 30), ("b", 30), ("b", 60)]
        tasks.cancel_scope.cancel()


async def test_metrics_tell_the_namespaces_apart(world: World) -> None:
    written = await world.write("a/one")
    async with world.informer() as maps:
        labels = {"name": "configmaps in a", "group": "", "version": "v1", "resource": "configmaps"}
        assert metric_value("informer_queued_items", labels) == 0
        reached = metric_value("informer_store_resource_version", labels)
        assert reached is not None
        assert int(reached) >= int(version_of(written)[-15:])
        assert len(maps.feeds) == 2


async def test_each_namespace_can_have_selectors_of_its_own(world: World) -> None:
    for key in ("a/one", "b/one"):
        await world.write(key, app="web")
    for key in ("a/two", "b/two"):
        await world.write(key, app="db")
    selections = {"a": Selection(), "b": Selection(label_selector="app=web", field_selector="metadata.name=one")}
    async with world.informer(selections) as maps:
        assert sorted(maps.indexer.list_keys()) == ["a/one", "a/two", "b/one"]


async def test_one_type_can_have_other_namespaces_than_the_rest(world: World) -> None:
    for key in ("a/one", "b/one", "c/one"):
        await world.write(key)
    by_type: dict[type, Selection] = {V1ConfigMap: Selection(namespaces=["b", "c"])}
    async with SharedInformerFactory(world.client, namespace="a", by_type=by_type, clock=world.clock) as informers:
        maps = informers.informer_for(V1ConfigMap)
        everywhere = informers.informer_for(V1ConfigMap, view="all", selection=Selection(namespace=""))
        informers.start()
        await informers.wait_for_cache_sync()

        assert sorted(maps.indexer.list_keys()) == ["b/one", "c/one"]
        assert {"a/one", "b/one", "c/one"} <= set(everywhere.indexer.list_keys())
        assert informers.namespaces == ("a",)


async def test_an_informer_of_several_namespaces_can_be_stopped_alone(world: World) -> None:
    async with SharedInformerFactory(world.client, namespaces=["a", "b"], clock=world.clock) as informers:
        maps = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync()
        await informers.stop(maps)
        await quiet()

        assert maps.is_stopped
        assert not world.server.watches.open


async def test_what_is_borrowed_is_of_the_same_namespaces(world: World) -> None:
    for key in ("a/one", "b/one", "c/one"):
        await world.write(key)
    async with SharedInformerFactory(world.client, namespaces=["a", "b"], clock=world.clock) as informers:
        borrowed = informers.borrow(dict, CONFIG_MAPS)
        await borrowed.informer.wait_synced()

        assert sorted(borrowed.informer.indexer.list_keys()) == ["a/one", "b/one"]


async def test_a_reader_does_not_take_an_unheld_namespace_for_an_empty_one(world: World) -> None:
    await world.write("c/one")
    async with SharedInformerFactory(world.client, namespaces=["a", "b"], clock=world.clock) as informers:
        informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync()

        assert await Reader(world.client, informers).list(V1ConfigMap, "a") == []
        with pytest.raises(NotCached, match="V1ConfigMap of the namespace c is in no cache, only that of a, b"):
            await Reader(world.client, informers).get(V1ConfigMap, "one", "c")
        found = await Reader(world.client, informers, ask_server=True).get(V1ConfigMap, "one", "c")
        assert found.metadata.name == "one"


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"namespaces": []}, ValueError, "namespaces is empty: leave it out for all namespaces"),
        ({"namespaces": ["a", ""]}, ValueError, "a namespace has an empty name"),
        ({"namespaces": "ab"}, TypeError, "namespaces is 'ab': want a list of names"),
        ({"namespace": "a", "namespaces": ["b"]}, ValueError, "namespace is 'a', and namespaces are given as well"),
        ({"namespaces": {"a": Selection(namespace="b")}}, ValueError, "namespace 'a' can have selectors only"),
    ],
)
async def test_namespaces_that_make_no_sense_are_refused(
    options: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    async with connect(url="http://127.0.0.1:1") as client:
        with pytest.raises(error, match=complaint):
            SharedInformerFactory(client, **options)
    with pytest.raises(error, match=complaint):
        Selection(**options)


def test_an_informer_of_all_namespaces_has_no_other_lister_watcher() -> None:
    source = FakeControllerSource(V1ConfigMap)
    with pytest.raises(ValueError, match="needs no other lister-watcher"):
        SharedIndexInformer({"": source, "a": source}, V1ConfigMap)
    with pytest.raises(ValueError, match="there is none"):
        SharedIndexInformer({}, V1ConfigMap)


async def test_a_manager_has_the_informers_of_its_namespaces(world: World) -> None:
    manager = Manager(world.client, known={}, namespaces=["a", "b"], clock=world.clock)
    assert manager.context.informers.namespaces == ("a", "b")

    with pytest.raises(OptionError, match="namespaces and informers"):
        Manager(world.client, known={}, namespaces=["a"], informers=SharedInformerFactory(world.client))


async def test_a_manager_gives_its_informers_their_options(world: World) -> None:
    options = InformerOptions(compress=True)
    manager = Manager(world.client, known={}, informer_options=options, clock=world.clock)
    assert manager.context.informers.informer_for(V1ConfigMap).options is options

    with pytest.raises(OptionError, match="informer_options and informers"):
        Manager(world.client, known={}, informer_options=options, informers=SharedInformerFactory(world.client))


async def test_changes_of_all_namespaces_arrive_whatever_breaks(world: World) -> None:
    async with world.informer() as maps:
        for number in range(20):
            await world.write(f"{'ab'[number % 2]}/map-{number}")
            if number % 3 == 0:
                world.server.faults.cut_watches()
            if number % 7 == 0:
                world.server.faults.compact()

        def is_complete() -> bool:
            return len(maps.indexer) == 20

        await eventually(is_complete, seconds=300, clock=world.clock)


async def test_a_controller_waits_for_its_own_writes_in_their_namespace_alone() -> None:
    clock = FakeClock()
    async with (
        ApiServer(plugins=False, seed=1, clock=clock) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        manager = Manager(
            client,
            controllers=["replicaset"],
            namespaces=["default", "kube-public"],
            beside_kube_controller_manager=True,
            clock=clock,
        )
        async with running(manager):
            sets, labels = client.resource(V1ReplicaSet), {"app": "web"}
            template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
            await turn(clock, 1)
            await sets.create(
                from_dict(V1ReplicaSet, {"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
            )
            await turn(clock, 1)
            # The next bookmark of the other namespace is most of a minute away.
            await sets.patch("web", {"spec": {"replicas": 4}}, "default")
            await turn(clock, 1)

            found = await sets.get("web", "default")
            assert found.status is not None
            assert (found.status.replicas, found.status.observed_generation) == (4, 2)
