"""An informer in a program of threads: reading, waiting, handlers, and how it ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import kinformer.sync
from kinformer.cache import CacheNotSynced, InformerStateError, ResourceEventHandlerFuncs
from kinformer.cache.feeds import Feeds
from kinformer.client import ClientError, Forbidden
from kinformer.models import V1ConfigMap, from_dict
from kinformer.sync import Client, Informer
from tests.sync.servers import Server, eventually


def config_map(name: str, **data: str) -> V1ConfigMap:
    labels = {"app": data.pop("app", "web")}
    return from_dict(V1ConfigMap, {"metadata": {"name": name, "namespace": "default", "labels": labels}, "data": data})


@pytest.fixture
def maps(client: Client) -> Iterator[Informer[V1ConfigMap]]:
    client.resource(V1ConfigMap).create(config_map("a"))
    client.resource(V1ConfigMap).create(config_map("other", app="db"))
    with client.resource(V1ConfigMap).informer("default", label_selector="app=web") as maps:
        maps.wait_synced(timeout=60)
        yield maps


def test_any_thread_reads_what_the_selectors_leave(client: Client, maps: Informer[V1ConfigMap]) -> None:
    assert list(maps.objects) == ["default/a"]
    client.resource(V1ConfigMap).create(config_map("b"))
    client.resource(V1ConfigMap).delete("a", "default")
    maps.wait_until_present()
    assert list(maps.objects) == ["default/b"]
    assert maps.is_current


def test_a_handler_may_block_and_its_errors_cost_one_call(client: Client, maps: Informer[V1ConfigMap]) -> None:
    go_on, seen = threading.Event(), list[tuple[str, bool]]()
    all_seen: Future[None] = Future()

    def added(found: V1ConfigMap) -> None:
        assert go_on.wait(60)
        seen.append((str(found.metadata.name), threading.current_thread() is threading.main_thread()))
        if found.metadata.name == "c":
            all_seen.set_result(None)
        raise ValueError("this handler always fails")

    registration = maps.add_event_handler(ResourceEventHandlerFuncs(add=added))
    for name in ("b", "c"):
        client.resource(V1ConfigMap).create(config_map(name))
    maps.wait_until_present()  # although the handler blocks
    assert seen == []
    go_on.set()
    all_seen.result(60)
    assert seen == [("a", False), ("b", False), ("c", False)]
    maps.remove_event_handler(registration)


def test_a_handler_is_called_again_at_its_period(client: Client) -> None:
    client.resource(V1ConfigMap).create(config_map("a"))
    with client.resource(V1ConfigMap).informer("default", resync_period=10) as maps:
        assert maps.add_event_handler(ResourceEventHandlerFuncs[V1ConfigMap]()).resync_period == 10
        assert maps.add_event_handler(ResourceEventHandlerFuncs[V1ConfigMap](), resync_period=30).resync_period == 30


def test_closing_waits_for_the_last_call_of_a_handler(client: Client) -> None:
    called, ended = threading.Event(), list[str]()

    def added(found: V1ConfigMap) -> None:
        called.set()
        threading.Event().wait(0.05)
        ended.append(str(found.metadata.name))

    client.resource(V1ConfigMap).create(config_map("a"))
    with client.resource(V1ConfigMap).informer("default") as maps:
        maps.add_event_handler(ResourceEventHandlerFuncs(add=added))
        assert called.wait(60)
    assert ended == ["a"]
    with pytest.raises(InformerStateError, match="informer configmaps has ended"):
        _ = maps.objects
    maps.close()


def test_waiting_says_why_the_server_gives_no_list(server: Server, client: Client) -> None:
    server.api.faults.refuse(403, times=99)
    with client.resource(V1ConfigMap).informer("default") as maps:
        eventually(lambda: isinstance(maps.failure, Forbidden))
        with pytest.raises(CacheNotSynced, match=r"configmaps \(.*injected fault: 403"):
            maps.wait_synced(timeout=0.01)


def test_an_error_that_ends_the_informer_reaches_the_readers(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(_: Any) -> None:
        raise LookupError("a bug")

    monkeypatch.setattr(Feeds, "run", run)
    broken = client.resource(V1ConfigMap).informer("default")
    broken.start()
    with pytest.raises(InformerStateError, match="has ended: a bug"):
        broken.wait_synced(timeout=60)
    with pytest.raises(InformerStateError, match="has ended: a bug") as caught:
        _ = broken.objects
    assert isinstance(caught.value.__cause__, LookupError)
    with pytest.raises(LookupError, match="a bug"):
        broken.close()


def test_closing_the_client_ends_its_informers(server: Server) -> None:
    with kinformer.sync.connect(url=server.api.url, token=server.api.token) as client:
        maps = client.resource(V1ConfigMap).informer("default")
        with pytest.raises(InformerStateError, match="was not started"):
            maps.wait_synced()
        maps.start()
        maps.wait_synced(timeout=60)
    with pytest.raises(InformerStateError, match="has ended"):
        _ = maps.objects
    maps.close()
    with pytest.raises(ClientError, match="closed"):
        client.resource(V1ConfigMap).informer("default")
