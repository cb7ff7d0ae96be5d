"""An informer over real sockets: connections that go silent, and bytes that only half fit the user's type."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from kinformer.cache import InformerOptions, ListWatch, SharedIndexInformer
from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.meta import GroupVersionResource
from kinformer.models import V1ConfigMap
from tests.cache.informers import running
from tests.client.conftest import ScriptedServer, client, clock, eventually, server  # the fixtures

__all__ = ("client", "clock", "server")


class Meta(msgspec.Struct, rename="camel", gc=False):
    name: str
    resource_version: str


class Widget(msgspec.Struct, gc=False):
    """A user's own type, all of whose fields must be there."""

    about: Meta = msgspec.field(name="metadata")
    size: int


def config_map(version: int, name: str = "") -> dict[str, Any]:
    meta = {"name": name or f"c{version}", "namespace": "ns", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def event(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": obj}


def listed(version: int, *items: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "List", "metadata": {"resourceVersion": str(version)}, "items": list(items)}


@pytest.fixture
def informer(client: Client, clock: FakeClock) -> SharedIndexInformer[V1ConfigMap]:  # a fixture of a fixture
    source = ListWatch(client.resource(V1ConfigMap), supports_watch_list=False)
    return SharedIndexInformer(source, V1ConfigMap, clock=clock, options=InformerOptions(random=lambda: 0.0))


def names(informer: SharedIndexInformer[Any]) -> list[str]:
    return sorted(key.removeprefix("ns/") for key in informer.indexer.list_keys())


async def test_a_half_open_connection_is_replaced_without_losing_an_event(
    server: ScriptedServer,
    clock: FakeClock,
    informer: SharedIndexInformer[V1ConfigMap],
) -> None:
    server.answer(listed(5, config_map(5)))
    silent, fresh = server.stream(), server.stream()
    async with running(informer.run):
        await silent.send(event("ADDED", config_map(6)), b'{"type":"ADDED","obj', split=False)
        await eventually(lambda: names(informer) == ["c5", "c6"])

        # Nothing, not even a bookmark, for 90 seconds: what happened meanwhile comes through the second connection.
        clock.turn(90)
        await fresh.send(event("ADDED", config_map(7)), event("DELETED", config_map(8, "c5")))
        await eventually(lambda: names(informer) == ["c6", "c7"])

        assert "resourceVersion=6" in server.requests[2].query
        assert informer.last_sync_resource_version == "8"
        await eventually(silent.closed.is_set)


async def test_a_silent_connection_is_checked_after_the_time_that_was_asked_for(
    server: ScriptedServer, clock: FakeClock, client: Client
) -> None:
    source = ListWatch(client.resource(V1ConfigMap), supports_watch_list=False, idle_timeout=20)
    informer = SharedIndexInformer(source, V1ConfigMap, clock=clock)
    server.answer(listed(5))
    silent, fresh = server.stream(), server.stream()
    async with running(informer.run):
        await silent.send(event("ADDED", config_map(6)))
        await eventually(lambda: names(informer) == ["c6"])
        clock.turn(20)
        await fresh.send(event("ADDED", config_map(7)))
        await eventually(lambda: names(informer) == ["c6", "c7"])


async def test_a_watch_is_opened_again_where_it_was_when_the_server_returns(
    server: ScriptedServer,
    clock: FakeClock,
    informer: SharedIndexInformer[V1ConfigMap],
) -> None:
    server.answer(listed(5))
    silent = server.stream()
    server.hang_up()
    fresh = server.stream()
    async with running(informer.run):
        await silent.send(event("ADDED", config_map(6)))
        await eventually(lambda: names(informer) == ["c6"])
        clock.turn(90)
        await eventually(lambda: len(server.requests) >= 3)
        await fresh.send(event("ADDED", config_map(7)))
        await eventually(lambda: names(informer) == ["c6", "c7"])

        watches = [request.query for request in server.requests if "watch=true" in request.query]
        assert ["resourceVersion=6" in query for query in watches] == [False, True, True]
        assert sum("watch=true" not in request.query for request in server.requests) == 1


async def test_a_bookmark_need_not_be_what_the_users_type_is_made_from(
    server: ScriptedServer,
    clock: FakeClock,
    client: Client,
) -> None:
    resource = client.resource(Widget, GroupVersionResource("example.org", "v1", "widgets"), kind="Widget")
    informer = SharedIndexInformer(ListWatch(resource), Widget, clock=clock)
    stream = server.stream()

    def widget(version: int) -> dict[str, Any]:
        return {"metadata": {"name": f"w{version}", "resourceVersion": str(version)}, "size": version}

    def bookmark(version: int, **notes: str) -> dict[str, Any]:
        return event("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": notes}})

    async with running(informer.run):
        await stream.send(event("ADDED", widget(1)), bookmark(2, **{"k8s.io/initial-events-end": "true"}))
        await eventually(lambda: informer.has_synced)
        assert informer.last_sync_resource_version == "2"
        await stream.send(event("ADDED", widget(3)), bookmark(9))
        await eventually(lambda: informer.last_sync_resource_version == "9")

        assert [(w.about.name, w.size) for w in informer.indexer.list()] == [("w1", 1), ("w3", 3)]


async def test_an_unreadable_event_ends_the_watch_and_a_list_follows(
    server: ScriptedServer,
    clock: FakeClock,
    informer: SharedIndexInformer[V1ConfigMap],
) -> None:
    server.answer(listed(5))
    stream = server.stream()
    server.answer(listed(7, config_map(7)))
    async with running(informer.run):
        with capture_logs() as logs:
            await stream.send(event("ADDED", config_map(6)), event("RENAMED", config_map(7)))
            await eventually(
                lambda: clock.next_due is not None and any(line["event"] == "watch_ended" for line in logs)
            )
            await clock.advance(1)
            await eventually(lambda: names(informer) == ["c7"])

        assert "resourceVersion=6" in server.requests[2].query
