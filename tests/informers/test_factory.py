from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
import pytest
from structlog.testing import capture_logs

from kinformer.cache import (
    CacheNotSynced,
    InformerOptions,
    InformerStateError,
    ListWatch,
    ResourceEventHandlerFuncs,
    SharedIndexInformer,
)
from kinformer.client import Client, ClientOptions, NotFound, WrappedTransport, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.informers import InformerTypeConflict, SharedInformerFactory
from kinformer.manager import Controller
from kinformer.meta import GroupVersionResource, accessor_for
from kinformer.models import PartialObjectMetadata, V1ConfigMap, V1Node, V1Pod, from_dict

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


class Name(msgspec.Struct):
    name: str
    namespace: str = ""


class OnlyName(msgspec.Struct):
    metadata: Name


def config_map(name: str, namespace: str = "default", **labels: str) -> V1ConfigMap:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return from_dict(V1ConfigMap, {"metadata": metadata, "data": {"colour": "red"}})


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        yield client


async def test_everybody_who_asks_for_a_kind_gets_the_same_informer(client: Client) -> None:
    informers = SharedInformerFactory(client)

    assert informers.informer_for(V1Pod) is informers.informer_for(V1Pod)
    assert informers.informer_for(V1Pod) is not informers.informer_for(V1ConfigMap)


async def test_two_types_for_one_kind_are_an_error_that_names_both(client: Client) -> None:
    informers = SharedInformerFactory(client)
    informers.informer_for(V1ConfigMap)

    said = r"of configmaps has objects of type V1ConfigMap; it .*OnlyName as well: want informer_for\(V1ConfigMap\)"
    with pytest.raises(InformerTypeConflict, match=said):
        informers.informer_for(OnlyName, V1ConfigMap)


async def test_an_alias_of_dict_is_dict(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        typed = informers.informer_for(dict[str, Any], ("", "v1", "configmaps"))
        informers.start()
        await typed.wait_synced()

        assert informers.informer_for(dict, ("", "v1", "configmaps")) is typed
        assert SharedIndexInformer(ListWatch(client.resource(dict[str, Any], CONFIG_MAPS)), dict[str, Any]).type is dict
        assert client.resource(dict[str, Any], CONFIG_MAPS) is client.resource(dict, CONFIG_MAPS)
        assert accessor_for(dict[str, Any]) is accessor_for(dict)


async def test_options_that_are_a_dict_are_refused_at_once(client: Client) -> None:
    options: Any = {"page_size": 100}

    with pytest.raises(TypeError, match=r"informer options are a dict: want InformerOptions\(page_size=100\)"):
        SharedInformerFactory(client, informer_options=options)


async def test_a_type_that_is_served_nowhere_is_an_error_that_names_it(client: Client) -> None:
    with pytest.raises(LookupError, match="OnlyName"):
        SharedInformerFactory(client).informer_for(OnlyName)


@pytest.mark.parametrize("type_", [V1ConfigMap, OnlyName, dict, PartialObjectMetadata])
async def test_an_informer_holds_models_structs_dicts_or_metadata_only(client: Client, type_: type[Any]) -> None:
    await client.resource(V1ConfigMap).create(config_map("a"))
    async with SharedInformerFactory(client) as informers:
        informer = informers.informer_for(type_, CONFIG_MAPS, kind="ConfigMap")
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)

        found = informer.indexer.get_by_key("default/a")
        assert isinstance(found, type_)


@pytest.mark.parametrize("keep", [False, True])
async def test_the_server_is_asked_to_drop_managed_fields_unless_wanted(client: Client, keep: bool) -> None:
    await client.resource(V1ConfigMap).create(config_map("a"))
    sent: list[str] = []

    class Spy(WrappedTransport):
        async def stream(self, path: str, **options: Any) -> Any:
            sent.append((options["headers"] or {}).get("Accept", ""))
            return await self._transport.stream(path, **options)

    async with SharedInformerFactory(
        client.through(Spy), informer_options=InformerOptions(keep_managed_fields=keep)
    ) as informers:
        informer = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)

        found = informer.indexer.get_by_key("default/a")
        assert found is not None
        assert bool(found.metadata.managed_fields) is keep
    assert sent == ["" if keep else "application/json;drop=metadata.managedFields"]


async def test_where_lists_are_compressed_informers_list_and_watches_are_as_ever() -> None:
    asked: list[str] = []

    class Spy(WrappedTransport):
        async def request(self, method: str, path: str, **options: Any) -> Any:
            asked.append(f"{method} {path}")
            return await self._transport.request(method, path, **options)

        async def stream(self, path: str, **options: Any) -> Any:
            assert "sendInitialEvents" not in options["params"]
            stream = await self._transport.stream(path, **options)
            asked.append(f"WATCH {path} {stream._response.headers.get('Content-Encoding', 'as it is')}")
            return stream

    async with (
        ApiServer() as server,
        connect(url=server.url, token=server.token, options=ClientOptions(compression=True)) as client,
    ):
        maps = client.resource(V1ConfigMap)
        for number in range(3):
            large = {"metadata": {"name": f"m{number}", "namespace": "default"}, "data": {"text": "x" * 60_000}}
            await maps.create(from_dict(V1ConfigMap, large))
        async with SharedInformerFactory(client.through(Spy)) as informers:
            informer = informers.informer_for(V1ConfigMap)
            informers.start()
            await informers.wait_for_cache_sync(timeout=60)
            await maps.create(config_map("late"))
            with anyio.fail_after(60):
                while informer.indexer.get_by_key("default/late") is None:
                    await anyio.lowlevel.checkpoint()

            found = informer.indexer.get_by_key("default/m1")
            assert found is not None
            assert len(found.data["text"]) == 60_000
    read = [line for line in asked if not line.startswith("POST")]
    assert read == ["GET /api/v1/configmaps", "WATCH /api/v1/configmaps as it is"]


async def test_a_metadata_informer_holds_metadata_and_nothing_else(client: Client) -> None:
    await client.resource(V1ConfigMap).create(config_map("a", app="web"))
    async with SharedInformerFactory(client) as informers:
        informer = informers.metadata_informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)

        found = informer.indexer.get_by_key("default/a")
        assert found is not None
        assert found.metadata.labels == {"app": "web"}
        assert not hasattr(found, "data")


async def test_a_namespaced_factory_has_only_that_namespace_but_cluster_wide_kinds_whole(client: Client) -> None:
    await client.resource(V1ConfigMap).create(config_map("a"))
    await client.resource(V1ConfigMap).create(config_map("b", "kube-system"))
    await client.resource(V1Node).create(from_dict(V1Node, {"metadata": {"name": "n"}}))
    async with SharedInformerFactory(client, namespace="kube-system") as informers:
        config_maps, nodes = informers.lister(V1ConfigMap), informers.lister(V1Node)
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)

        assert informers.namespaces == ("kube-system",)
        assert [found.metadata.name for found in config_maps.list() if found.data == {"colour": "red"}] == ["b"]
        assert [node.metadata.name for node in nodes.list()] == ["n"]


async def test_selectors_of_a_factory_narrow_every_informer(client: Client) -> None:
    await client.resource(V1ConfigMap).create(config_map("a", app="web"))
    await client.resource(V1ConfigMap).create(config_map("b", app="db"))
    async with SharedInformerFactory(client, label_selector="app", field_selector="metadata.name=b") as informers:
        informer = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)

        assert informer.indexer.list_keys() == ["default/b"]


async def test_a_transform_of_a_factory_sees_every_object(client: Client) -> None:
    def without_data(obj: V1ConfigMap) -> V1ConfigMap:
        obj.data = None
        return obj

    await client.resource(V1ConfigMap).create(config_map("a"))
    async with SharedInformerFactory(client, transform=without_data) as informers:
        informer = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)

        assert [found.data for found in informer.indexer.list() if found.metadata.name == "a"] == [None]


async def test_changes_reach_handlers_and_the_cache(client: Client) -> None:
    config_maps = client.resource(V1ConfigMap)
    told: list[str] = []
    async with SharedInformerFactory(client) as informers:
        informer = informers.informer_for(V1ConfigMap)
        done = anyio.Event()
        informer.add_event_handler(
            ResourceEventHandlerFuncs(
                add=lambda new: told.append(f"add {new.metadata.name}") if new.metadata.name == "a" else None,
                update=lambda old, new: told.append(f"update {old.data} {new.data}"),
                delete=lambda old: done.set(),
            )
        )
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)
        made = await config_maps.create(config_map("a"))
        made.data["colour"] = "blue"
        await config_maps.update(made)
        await config_maps.delete("a", "default")
        with anyio.fail_after(60):
            await done.wait()

    assert told == ["add a", "update {'colour': 'red'} {'colour': 'blue'}"]


async def test_informers_asked_for_later_run_once_start_is_called_again(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        first = informers.informer_for(V1Pod)
        informers.start()
        second = informers.informer_for(V1ConfigMap)
        assert (first.is_started, second.is_started) == (False, False)  # their tasks have not had their turn

        informers.start()
        await informers.wait_for_cache_sync(timeout=60)
        assert (first.has_synced, second.has_synced) == (True, True)


async def test_indexers_can_be_brought_along_and_those_that_are_there_stay(client: Client) -> None:
    informers = SharedInformerFactory(client)
    informers.informer_for(V1ConfigMap, indexers={"by-uid": lambda found: found.metadata.uid})
    informer = informers.informer_for(V1ConfigMap, indexers={"by-uid": lambda found: "other", "more": lambda _: "x"})

    assert set(informer.indexer.get_indexers()) == {"namespace", "by-uid", "more"}


async def test_leaving_the_factory_ends_every_informer(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        informer = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)

    assert informer.is_stopped


async def test_shutdown_returns_when_every_informer_has_ended(client: Client) -> None:
    async with anyio.create_task_group() as tasks:
        informers = SharedInformerFactory(client)
        informer = informers.informer_for(V1ConfigMap)
        tasks.start_soon(informers.run)
        await informer.wait_synced()

        await informers.shutdown()
        assert informer.is_stopped


async def test_a_factory_that_does_not_run_cannot_start_anything(client: Client) -> None:
    with pytest.raises(RuntimeError, match="does not run"):
        SharedInformerFactory(client).start()


async def test_informers_are_started_in_the_factorys_loop_only(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        informers.informer_for(V1Pod)

        with pytest.raises(RuntimeError, match="the informer factory runs in another event loop"):
            await anyio.to_thread.run_sync(informers.start)


async def test_a_factory_runs_only_once_at_a_time(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        with pytest.raises(RuntimeError, match="runs already"):
            await informers.run()


async def test_waiting_gives_up_after_the_time_and_names_who_is_late() -> None:
    clock = FakeClock()
    async with (
        connect(url="http://127.0.0.1:1", clock=clock) as client,
        SharedInformerFactory(client, clock=clock) as informers,
        anyio.create_task_group() as tasks,
    ):
        informers.informer_for(V1ConfigMap)
        informers.start()
        tasks.start_soon(clock.advance, 60)
        with pytest.raises(CacheNotSynced, match="not synced after 5 seconds: configmaps"):
            await informers.wait_for_cache_sync(timeout=5)
        tasks.cancel_scope.cancel()


async def test_a_resource_may_be_a_plain_tuple(client: Client) -> None:
    informers = SharedInformerFactory(client)

    assert informers.informer_for(dict, ("", "v1", "configmaps")) is informers.informer_for(dict, CONFIG_MAPS)


async def test_a_namespaced_factory_has_all_dicts_of_cluster_scoped_kinds(client: Client) -> None:
    await client.resource(V1Node).create(from_dict(V1Node, {"metadata": {"name": "n1"}}))
    async with SharedInformerFactory(client, namespace="default") as informers:
        nodes = informers.informer_for(dict, GroupVersionResource("", "v1", "nodes"))
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)

        assert nodes.indexer.list_keys() == ["n1"]


async def test_a_factory_shut_down_within_its_body_continues_with_the_body(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        informer = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)
        await informers.shutdown()
        assert informer.is_stopped

        # What is to be said last can still be said.
        await client.resource(V1ConfigMap).create({"metadata": {"name": "last-word", "namespace": "default"}})
        with pytest.raises(RuntimeError, match="was shut down: make a new one"):
            informers.start()

    with pytest.raises(RuntimeError, match="was shut down: make a new one"):
        await informers.run()


async def test_a_waiter_is_told_when_a_shut_down_factory_will_not_sync() -> None:
    clock = FakeClock()
    errors: dict[str, Exception] = {}

    async def note(name: str, wait: Callable[[], Awaitable[None]]) -> None:
        try:
            await wait()
        except InformerStateError as error:
            errors[name] = error

    async def sync(key: str) -> None: ...

    async with (
        connect(url="http://127.0.0.1:1", clock=clock) as client,
        SharedInformerFactory(client, clock=clock) as informers,
        anyio.create_task_group() as tasks,
    ):
        informer = informers.informer_for(V1ConfigMap)
        controller = Controller("x", sync, clock=clock).watch(informer)
        informers.start()
        tasks.start_soon(note, "factory", informers.wait_for_cache_sync)
        tasks.start_soon(note, "informer", informer.wait_synced)
        tasks.start_soon(note, "controller", controller.run)
        await clock.settle()
        await informers.shutdown()
        await clock.settle()

    assert sorted(errors) == ["controller", "factory", "informer"]
    for who in ("informer", "controller"):
        assert str(errors[who]) == "informer configmaps has stopped before it had synced"
    assert "informer configmaps" in str(errors["factory"])


async def test_an_error_of_the_body_leaves_the_factory_as_it_is(client: Client) -> None:
    async def use() -> None:
        async with SharedInformerFactory(client) as informers:
            informers.informer_for(V1ConfigMap)
            informers.start()
            await client.resource(V1ConfigMap).get("nope", "default")

    with pytest.raises(NotFound, match="nope"):
        await use()


async def test_an_error_of_an_informer_leaves_the_factory_as_it_is(client: Client) -> None:
    async def broken() -> None:
        raise ValueError("in the informer")

    async def use() -> None:
        async with SharedInformerFactory(client) as informers:
            informer = informers.informer_for(V1ConfigMap)
            informer.run = broken  # type: ignore[method-assign]
            informers.start()
            await anyio.sleep_forever()

    with pytest.raises(ValueError, match="in the informer"):
        await use()


async def test_an_informer_that_nobody_starts_is_named_by_a_warning() -> None:
    clock = FakeClock()

    async def sync(key: str) -> None: ...

    async with (
        connect(url="http://127.0.0.1:1", clock=clock) as client,
        SharedInformerFactory(client, clock=clock) as informers,
        anyio.create_task_group() as tasks,
    ):
        informers.start()  # before the informer was asked for
        controller = Controller("x", sync, clock=clock).watch(informers.informer_for(V1ConfigMap))
        with capture_logs() as logs:
            tasks.start_soon(controller.run)
            await clock.advance(4)
            assert [line for line in logs if line["log_level"] == "warning"] == []
            await clock.advance(60)
            tasks.cancel_scope.cancel()

    (line,) = [line for line in logs if line["log_level"] == "warning"]
    assert (line["event"], line["informer"]) == ("informer_not_started", "configmaps")
    assert "start()" in line["hint"]


async def test_an_informer_that_is_started_late_is_not_warned_of() -> None:
    clock = FakeClock()
    async with (
        connect(url="http://127.0.0.1:1", clock=clock) as client,
        SharedInformerFactory(client, clock=clock) as informers,
        anyio.create_task_group() as tasks,
    ):
        informer = informers.informer_for(V1ConfigMap)
        with capture_logs() as logs:
            tasks.start_soon(informer.wait_synced)
            await clock.advance(3)
            informers.start()
            await clock.advance(3)
            tasks.cancel_scope.cancel()

    assert "informer_not_started" not in [line["event"] for line in logs]
