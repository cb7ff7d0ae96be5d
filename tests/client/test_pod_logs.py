"""Logs of a container: which part, line by line, and how they end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import anyio
import pytest

from kinformer.client import BadRequest, Client, ClientError, ConnectionLost, NotFound
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from tests.client.conftest import ScriptedServer
from tests.client.pods import running_pod


@pytest.fixture
async def api(clock: FakeClock) -> AsyncIterator[ApiServer]:
    async with ApiServer(clock=clock, plugins=False, controllers=False) as server:
        yield server


async def test_a_log_is_read_line_by_line(api: ApiServer, here: Client) -> None:
    api.containers.log("web", ["one", "", "three äöü"])
    pods = await running_pod(here)

    async with pods.logs("web", "default") as lines:
        assert [line async for line in lines] == ["one", "", "three äöü"]


async def test_a_log_is_read_as_one_text(api: ApiServer, here: Client) -> None:
    api.containers.log("web", ["one", "two"])
    pods = await running_pod(here)

    assert await pods.read_logs("web", "default") == "one\ntwo\n"


async def test_a_followed_log_shows_later_lines_and_ends_with_its_container(api: ApiServer, here: Client) -> None:
    log = api.containers.log("web", ["one"])
    pods = await running_pod(here)

    async with pods.logs("web", "default", follow=True) as lines:
        assert await anext(lines) == "one"
        log.write("two")
        assert await anext(lines) == "two"
        log.end()
        with pytest.raises(StopAsyncIteration):
            await anext(lines)


async def test_a_followed_log_whose_connection_is_cut_ends_with_an_error(api: ApiServer, here: Client) -> None:
    api.containers.log("web", ["one"])
    pods = await running_pod(here)

    async with pods.logs("web", "default", follow=True) as lines:
        assert await anext(lines) == "one"
        api.faults.cut_streams()
        with pytest.raises(ConnectionLost):
            await anext(lines)
        with pytest.raises(ConnectionLost):  # and it stays so
            await anext(lines)


async def test_a_server_that_stops_ends_a_followed_log_with_an_error(api: ApiServer, here: Client) -> None:
    api.containers.log("web", ["one"])
    pods = await running_pod(here)

    async with pods.logs("web", "default", follow=True) as lines:
        assert await anext(lines) == "one"
        await api.restart()
        with pytest.raises(ConnectionLost):
            await anext(lines)


async def test_a_line_that_was_cut_in_the_middle_is_not_given(server: ScriptedServer, client: Client) -> None:
    stream = server.stream()
    pods = client.resource(dict, ("", "v1", "pods"))

    async with pods.logs("web", "default", follow=True) as lines:
        await stream.send(b"whole\nhal")
        await stream.cut()
        assert await anext(lines) == "whole"
        with pytest.raises(ConnectionLost):
            await anext(lines)


async def test_a_line_may_come_in_pieces_or_without_an_end(server: ScriptedServer, client: Client) -> None:
    stream = server.stream()
    pods = client.resource(dict, ("", "v1", "pods"))

    async with pods.logs("web", "default") as lines:
        await stream.send(b"he")
        await stream.send(b"llo\nwor")
        await stream.send(b"ld")
        await stream.end()
        assert [line async for line in lines] == ["hello", "world"]


async def test_the_options_are_sent_as_the_api_names_them(server: ScriptedServer, client: Client) -> None:
    server.answer(b"")
    pods = client.resource(dict, ("", "v1", "pods"))
    await pods.read_logs(
        "web",
        "default",
        container="app",
        previous=True,
        since_time=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        tail_lines=0,
        limit_bytes=7,
        timestamps=True,
    )
    assert server.requests[0].path == "/api/v1/namespaces/default/pods/web/log"
    assert server.requests[0].query == (
        "container=app&previous=true&timestamps=true&sinceTime=2026-01-02T03%3A04%3A05Z&tailLines=0&limitBytes=7"
    )
    # A server that answers a log only as text refuses whoever takes nothing but JSON.
    assert server.requests[0].headers["accept"] == "application/json, */*"


async def test_tail_since_limit_and_timestamps_choose_a_part(api: ApiServer, here: Client, clock: FakeClock) -> None:
    log = api.containers.log("web", ["old"])
    clock.turn(60)
    log.write("a", "b", "c")
    pods = await running_pod(here)

    assert await pods.read_logs("web", "default", tail_lines=2) == "b\nc\n"
    assert await pods.read_logs("web", "default", since_seconds=30) == "a\nb\nc\n"
    assert await pods.read_logs("web", "default", since_time=clock.now()) == "a\nb\nc\n"
    assert await pods.read_logs("web", "default", limit_bytes=3) == "old"
    time = clock.now().strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    assert await pods.read_logs("web", "default", tail_lines=1, timestamps=True) == f"{time} c\n"


async def test_the_log_before_a_restart_is_the_previous_one(api: ApiServer, here: Client) -> None:
    log = api.containers.log("web", ["crash"])
    pods = await running_pod(here)
    with pytest.raises(BadRequest, match="previous terminated container"):
        await pods.read_logs("web", "default", previous=True)
    log.restart()
    log.write("again")
    assert await pods.read_logs("web", "default") == "again\n"
    assert await pods.read_logs("web", "default", previous=True) == "crash\n"


async def test_what_cannot_be_read_is_refused(api: ApiServer, here: Client) -> None:
    api.containers.log("*", [])
    pods = await running_pod(here, "two", "a", "b")
    await running_pod(here, "slow", waiting=True)

    with pytest.raises(NotFound):
        await pods.read_logs("gone", "default")
    with pytest.raises(BadRequest, match=r"choose one of: \[a b\]"):
        await pods.read_logs("two", "default")
    with pytest.raises(BadRequest, match="container c is not valid for pod two"):
        await pods.read_logs("two", "default", container="c")
    with pytest.raises(BadRequest, match="waiting to start: ContainerCreating"):
        async with pods.logs("slow", "default", follow=True):
            pass
    assert await pods.read_logs("two", "default", container="b") == ""


async def test_options_that_contradict_each_other_are_refused_before_anything_is_sent(client: Client) -> None:
    pods = client.resource(dict, ("", "v1", "pods"))
    with pytest.raises(ValueError, match="give one of them"):
        pods.logs("web", "default", since_seconds=1, since_time=datetime.now(UTC))
    with pytest.raises(ValueError, match="no time zone"):
        pods.logs("web", "default", since_time=datetime(2026, 1, 1))  # that is the point
    with pytest.raises(ValueError, match="use logs"):
        await pods.read_logs("web", "default", follow=True)


async def test_a_log_that_was_not_opened_says_how_to_do_that(client: Client) -> None:
    lines = client.resource(dict, ("", "v1", "pods")).logs("web", "default")
    with pytest.raises(RuntimeError, match="async with"):
        await anext(lines)
    with pytest.raises(RuntimeError, match="async with"):
        await lines


async def test_a_log_is_not_read_once_it_is_closed(api: ApiServer, here: Client) -> None:
    api.containers.log("web", ["one"])
    pods = await running_pod(here)
    async with pods.logs("web", "default", follow=True) as lines:
        pass
    with pytest.raises(ClientError, match="closed"):
        await anext(lines)


async def test_leaving_a_followed_log_closes_its_connection(api: ApiServer, here: Client) -> None:
    api.containers.log("web", ["one"])
    pods = await running_pod(here)
    async with pods.logs("web", "default", follow=True) as lines:
        assert await anext(lines) == "one"
        assert len(api.watches.streams.open) == 1
    with anyio.fail_after(60):
        while api.watches.streams.open:
            await anyio.lowlevel.checkpoint()
