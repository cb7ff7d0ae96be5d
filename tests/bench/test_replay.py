"""The replay server, asked by this project's own client."""

from __future__ import annotations

import sys
import time

import anyio
import pytest

from kinformer.bench.replay import SENT_AT
from kinformer.bench.servers import replay
from kinformer.client import Client, ListOptions, NotFound, ServerUnreachable, connect
from kinformer.client.types import BOOKMARK, INITIAL_EVENTS_ANNOTATION, WatchEvent
from kinformer.models import V1Namespace, V1Pod, V1Service

OBJECTS = 150
FROM_NOW = ListOptions(resource_version="1")


async def events_of(client: Client, options: ListOptions, count: int) -> list[WatchEvent[V1Pod]]:
    found: list[WatchEvent[V1Pod]] = []
    async with client.resource(V1Pod).watch(options=options) as batches:
        while len(found) < count:
            found += await anext(batches)
    return found


async def test_a_list_has_every_pod_once() -> None:
    async with replay(OBJECTS) as server, connect(url=server.url) as client:
        found = await client.resource(V1Pod).list()

    assert len({pod.metadata.name for pod in found.items}) == len(found.items) == OBJECTS
    assert found.continue_token == ""


async def test_pages_have_together_what_the_list_has() -> None:
    async with replay(OBJECTS) as server, connect(url=server.url) as client:
        pages = [page async for page in client.resource(V1Pod).pages(options=ListOptions(limit=40))]

    assert [len(page.items) for page in pages] == [40, 40, 40, 30]
    assert len({pod.metadata.name for page in pages for pod in page.items}) == OBJECTS
    assert len({page.resource_version for page in pages}) == 1


async def test_a_streaming_list_ends_with_a_bookmark_that_says_so() -> None:
    options = ListOptions(
        send_initial_events=True, resource_version_match="NotOlderThan", allow_watch_bookmarks=True, resource_version=""
    )
    async with replay(OBJECTS) as server, connect(url=server.url) as client:
        with anyio.fail_after(60):
            *added, last = await events_of(client, options, OBJECTS + 1)

    assert {event.type for event in added} == {"ADDED"}
    assert len({event.object.metadata.name for event in added}) == OBJECTS
    assert last.type == BOOKMARK
    assert last.object.metadata.annotations == {INITIAL_EVENTS_ANNOTATION: "true"}


async def test_a_watch_brings_what_was_asked_for_in_the_order_of_versions() -> None:
    async with replay(OBJECTS) as server, connect(url=server.url) as client:
        await server.load(1_000)
        with anyio.fail_after(60):
            events = await events_of(client, FROM_NOW, 1_000)

    versions = [int(event.object.metadata.resource_version) for event in events]
    assert len(events) == 1_000
    assert {event.type for event in events} == {"MODIFIED"}
    assert versions == sorted(set(versions))
    assert len({event.object.metadata.name for event in events}) == OBJECTS


@pytest.mark.parametrize("rate", [0, 10_000])
async def test_events_change_the_status_if_nothing_else_is_asked_for(rate: int) -> None:
    async with replay(200) as server, connect(url=server.url) as client:
        await server.load(400, rate)
        with anyio.fail_after(60):
            events = await events_of(client, FROM_NOW, 400)

    restarts: dict[str, list[int]] = {}
    for event in events:
        restarts.setdefault(event.object.metadata.name, []).append(
            event.object.status.container_statuses[0].restart_count
        )
    assert all(before < after for before, after in restarts.values())


async def test_events_may_change_the_version_and_nothing_else() -> None:
    async with replay(200) as server, connect(url=server.url) as client:
        await server.load(400, status=False)
        with anyio.fail_after(60):
            events = await events_of(client, FROM_NOW, 400)

    assert {event.object.status.container_statuses[0].restart_count for event in events} == {0}
    assert len({event.object.metadata.resource_version for event in events}) == 400


async def test_it_speaks_tls_with_a_certificate_of_an_authority_that_it_names() -> None:
    async with replay(OBJECTS, tls=True) as server:
        assert server.url.startswith("https://")
        async with connect(url=server.url, ca_data=server.authority) as client:
            assert len((await client.resource(V1Pod).list()).items) == OBJECTS
        async with connect(url=server.url) as client:
            with pytest.raises(ServerUnreachable):
                await client.resource(V1Pod).list()


async def test_events_at_a_rate_take_time_and_carry_their_sending_time() -> None:
    began = time.monotonic()
    async with replay(OBJECTS) as server, connect(url=server.url) as client:
        await server.load(200, rate=1_000)
        with anyio.fail_after(60):
            events = await events_of(client, FROM_NOW, 200)
    now = time.monotonic()

    sent = [int(event.object.metadata.annotations[SENT_AT]) / 1e9 for event in events]
    assert sent == sorted(sent)
    assert began < sent[0]
    assert sent[-1] < now
    assert sent[-1] - sent[0] > 0.1


async def test_it_can_be_read_faster_than_anybody_decodes() -> None:
    async with replay(OBJECTS) as server:
        with anyio.fail_after(60):
            assert (await server.raw_read(2_000)).wall > 0


async def test_it_answers_what_clients_ask_before_they_list_pods() -> None:
    async with replay(1) as server, connect(url=server.url) as client:
        assert (await client.server_version()).git_version == "v1.36.2+replay"
        assert (await client.resource(V1Namespace).list()).items == []
        with pytest.raises(NotFound):
            await client.resource(V1Service).list()
        with anyio.move_on_after(0.05) as waited:
            async with client.resource(V1Namespace).watch(options=FROM_NOW) as batches:
                await anext(batches)
    assert waited.cancelled_caught


async def test_it_ends_with_whoever_started_it() -> None:
    command = [sys.executable, "-m", "kinformer.bench.replay", "1"]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        await process.stdout.receive()
        await process.stdin.aclose()
        with anyio.fail_after(60):
            assert await process.wait() == 0
