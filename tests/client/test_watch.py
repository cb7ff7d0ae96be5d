"""Watch streams: batches, how they end, and what is done about silence."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest
from structlog.testing import capture_logs

from kinformer.client import (
    ApiError,
    Client,
    ConnectionLost,
    DecodeError,
    Expired,
    Forbidden,
    ListOptions,
    Resource,
    WatchEvent,
    WatchStalled,
    WatchStream,
)
from kinformer.client.heads import Wanted
from kinformer.clock import FakeClock
from kinformer.models import V1ConfigMap
from tests.client.conftest import ScriptedServer, Stream, eventually
from tests.levels import TOO_MANY

PATH = "/api/v1/namespaces/ns/configmaps"


def event(kind: str, version: int, **annotations: str) -> dict[str, Any]:
    meta = {"name": f"c{version}", "namespace": "ns", "resourceVersion": str(version), "annotations": annotations}
    return {"type": kind, "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}}


def bookmark(version: int, *, ends_initial: bool = False) -> dict[str, Any]:
    notes = {"k8s.io/initial-events-end": "true"} if ends_initial else {}
    return {
        "type": "BOOKMARK",
        "object": {"kind": "ConfigMap", "metadata": {"resourceVersion": str(version), "annotations": notes}},
    }


def failure(code: int, reason: str) -> dict[str, Any]:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": reason, "message": "too old"}}


def since(version: int | str = 5, **options: Any) -> ListOptions:
    return ListOptions(resource_version=str(version), **options)


@pytest.fixture
def config_maps(client: Client) -> Resource[V1ConfigMap]:
    return client.resource(V1ConfigMap)


def seen(batch: list[WatchEvent[Any]]) -> list[tuple[str, str]]:
    return [(event.type, event.object.metadata.resource_version) for event in batch]


async def read_until(events: WatchStream[Any], count: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    with anyio.fail_after(60):
        while len(found) < count:
            found += seen(await anext(events))
    return found


async def test_what_has_arrived_comes_as_one_batch(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since(5, allow_watch_bookmarks=True)) as events:
        await stream.send(event("ADDED", 6), event("MODIFIED", 7), event("DELETED", 8), bookmark(9))
        await stream.end()
        await anyio.wait_all_tasks_blocked()
        batches = [batch async for batch in events]

    assert [seen(batch) for batch in batches] == [
        [("ADDED", "6"), ("MODIFIED", "7"), ("DELETED", "8"), ("BOOKMARK", "9")]
    ]
    assert batches[0][0].object.metadata.name == "c6"
    assert events.resource_version == "9"
    request = server.requests[0]
    assert request.path == PATH
    assert request.query == "resourceVersion=5&allowWatchBookmarks=true&watch=true"


async def test_lines_may_be_cut_and_joined_in_any_way(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream()
    whole = b"".join(msgspec.json.encode(event("ADDED", version)) + b"\n" for version in range(6, 12))

    async with config_maps.watch("ns", since()) as events, anyio.create_task_group() as tasks:

        async def send() -> None:
            for start in range(0, len(whole), 97):
                await stream.send(whole[start : start + 97])
                await anyio.wait_all_tasks_blocked()
            await stream.end()

        tasks.start_soon(send)
        found = [entry async for batch in events for entry in seen(batch)]

    assert found == [("ADDED", str(version)) for version in range(6, 12)]


def change(namespace: str, version: int) -> bytes:
    """A line as Kubernetes writes it, of a few hundred bytes."""
    meta = f'"name":"c{version}","namespace":"{namespace}","uid":"u{version}","resourceVersion":"{version}"'
    notes = f'"annotations":{{"text":"{"x" * (version % 7) * 50}"}}'
    return f'{{"type":"MODIFIED","object":{{"metadata":{{{meta},{notes}}}}}}}\n'.encode()


@pytest.mark.parametrize("size", [1, 61, 97, 500, 3000])
async def test_unwanted_lines_may_be_cut_and_joined_in_any_way(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], size: int
) -> None:
    stream = server.stream()
    namespaces = ["ours", "theirs", "theirs", "ours", "ours", "theirs", "ours", "theirs", "theirs", "theirs"]
    whole = b"".join(change(namespace, version) for version, namespace in enumerate(namespaces, 11))
    wanted = Wanted(lambda namespace, uid, owner: namespace == "ours", by_namespace=True)

    async with (
        config_maps.watch("", since(), wanted=wanted) as events,
        anyio.create_task_group() as tasks,
    ):

        async def send() -> None:
            for start in range(0, len(whole), size):
                await stream.send(whole[start : start + size])
                if size > 1:
                    await anyio.wait_all_tasks_blocked()
            await stream.end()

        tasks.start_soon(send)
        found = [entry async for batch in events for entry in seen(batch)]

    assert [entry for entry in found if entry[0] != "BOOKMARK"] == [
        ("MODIFIED", version) for version in ("11", "14", "15", "17")
    ]
    versions = [int(version) for _, version in found]
    assert versions == sorted(versions)
    assert events.resource_version == "20"


async def test_an_error_behind_unwanted_lines_is_raised(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream()
    wanted = Wanted(lambda namespace, uid, owner: namespace == "ours", by_namespace=True)

    async with config_maps.watch("", since(), wanted=wanted) as events:
        await stream.send(change("ours", 6) + change("theirs", 7), failure(410, "Expired"))
        await stream.end()
        await anyio.wait_all_tasks_blocked()
        found = seen(await anext(events))
        with pytest.raises(Expired):
            await anext(events)

    assert found == [("MODIFIED", "6")]


async def test_lines_much_longer_than_a_read_are_put_together(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream()
    sizes = [100_000, 5, 40_000, 16_384, 5, 5, 70_000]
    lines = []
    for version, size in enumerate(sizes, 6):
        changed = event("ADDED", version)
        changed["object"]["data"] = {"long": "x" * size}
        lines.append(msgspec.json.encode(changed) + b"\n")
    whole = b"".join(lines)

    async with config_maps.watch("ns", since()) as events, anyio.create_task_group() as tasks:

        async def send() -> None:
            for start in range(0, len(whole), 30_011):
                await stream.send(whole[start : start + 30_011])
                await anyio.wait_all_tasks_blocked()
            await stream.end()

        tasks.start_soon(send)
        found = [len(entry.object.data["long"]) async for batch in events for entry in batch]

    assert found == sizes


async def test_a_last_line_without_an_end_counts_if_the_server_ended(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since()) as events:
        await stream.send(msgspec.json.encode(event("ADDED", 6)))
        await stream.end()
        found = [seen(batch) async for batch in events]

        assert found == [[("ADDED", "6")]]
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_an_answer_that_is_not_chunked_is_read_too(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream(chunked=False)

    async with config_maps.watch("ns", since()) as events:
        await stream.send(event("ADDED", 6))
        assert await read_until(events, 1) == [("ADDED", "6")]
        await stream.end()
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_a_cut_line_is_dropped_and_the_lines_before_it_stay(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since()) as events:
        await stream.send(event("ADDED", 6), b'{"type":"MODIFIED","obj')
        await stream.cut()
        await anyio.wait_all_tasks_blocked()

        assert seen(await anext(events)) == [("ADDED", "6")]
        with pytest.raises(ConnectionLost, match=r"lost the connection to http://.*/configmaps"):
            await anext(events)
        with pytest.raises(ConnectionLost, match="has ended"):
            await anext(events)


async def test_an_error_is_raised_after_the_events_before_it(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since()) as events:
        await stream.send(event("ADDED", 6), b"\n", failure(410, "Expired"), event("ADDED", 7), split=False)

        assert seen(await anext(events)) == [("ADDED", "6")]
        with pytest.raises(Expired, match="too old"):
            await anext(events)


async def test_an_error_may_be_all_there_is(server: ScriptedServer, client: Client) -> None:
    stream = server.stream()

    async with client.resource(dict, ("", "v1", "configmaps")).watch("ns", since()) as events:
        await stream.send(failure(500, "InternalError"))

        with pytest.raises(ApiError, match="too old"):
            await anext(events)


DEEP = b"[" * TOO_MANY + b"]" * TOO_MANY


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (b'"immutable":"canary"', r"ConfigMap ns/bad: immutable: Expected `bool \| null`, got `str`"),
        (b'"data":%b' % DEEP, "ConfigMap ns/bad: it is nested too deeply"),
        (b'"unheardOf":%b' % DEEP, "ConfigMap ns/bad: it is nested too deeply"),
        (b'"apiVersion":"canary\xff"', "ConfigMap ns/bad: it is not UTF-8"),
    ],
)
async def test_an_undecodable_object_ends_a_watch_or_is_left_out(
    part: bytes, why: str, server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream()
    bad = b'{"type":"MODIFIED","object":{%b,"metadata":{"name":"bad","namespace":"ns","resourceVersion":"7"}}}\n' % part

    async with config_maps.watch("ns", since(), leave_out=True) as events:
        await stream.send(event("ADDED", 6), bad, event("ADDED", 8))
        got: list[Any] = []
        while len(got) < 3:
            got += await anext(events)
    left_out = got[1]
    assert (left_out.type, left_out.object.key, left_out.object.metadata.resource_version) == (
        "MODIFIED",
        "ns/bad",
        "7",
    )
    assert re.fullmatch(why, str(left_out.object.error))
    assert events.resource_version == "8"

    stream = server.stream()
    async with config_maps.watch("ns", since()) as events:
        await stream.send(event("ADDED", 6), bad)
        assert await read_until(events, 1) == [("ADDED", "6")]
        with pytest.raises(DecodeError, match=why) as caught:
            await anext(events)
        assert "canary" not in "".join(traceback.format_exception(caught.value))


async def test_what_has_no_name_cannot_be_left_out(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    stream = server.stream()
    async with config_maps.watch("ns", since(), leave_out=True) as events:
        await stream.send(b'{"type":"ADDED","object":7}\n')
        with pytest.raises(DecodeError, match="an object without a name"):
            await anext(events)
    server.answer(b'{"metadata":{},"items":[7]}')
    with pytest.raises(DecodeError, match="is not a list of V1ConfigMap"):
        await config_maps.list("ns", leave_out=True)


async def test_an_error_and_a_bookmark_may_be_deep(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since()) as events:
        mark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"},"data":%b}}\n' % DEEP
        await stream.send(mark, b'{"type":"ERROR","object":{"kind":"Status","code":410,"a":%b}}\n' % DEEP)

        assert await read_until(events, 1) == [("BOOKMARK", "9")]
        with pytest.raises(ApiError, match="not a Status"):
            await anext(events)


async def test_a_deep_answer_is_an_error_of_that_request(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    deep = b'{"metadata":{"name":"deep","namespace":"ns"},"data":%b}' % DEEP
    for answer in (deep, b'{"metadata":{},"items":[%b]}' % deep):
        server.answer(answer)
        with pytest.raises(DecodeError, match="deep: it is nested too deeply"):
            await (config_maps.get("deep", "ns") if answer is deep else config_maps.list("ns"))
    server.answer(deep)
    with pytest.raises(DecodeError, match="deep: it is nested too deeply"):
        await config_maps.delete("deep", "ns")
    server.answer(deep, 403)
    with pytest.raises(ApiError):
        await config_maps.get("deep", "ns")


@pytest.mark.parametrize("line", [b"nonsense\n", b'{"type":"RENAMED","object":{}}\n', b'{"type":"ADDED","object":7}\n'])
async def test_what_is_no_event_is_an_error_that_quotes_none_of_it(
    line: bytes, server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since()) as events:
        await stream.send(event("ADDED", 6), line)

        assert await read_until(events, 1) == [("ADDED", "6")]
        with pytest.raises(DecodeError, match="unable to decode an event from the watch stream") as caught:
            await anext(events)
        assert line.decode().strip() not in str(caught.value)


class Meta(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str


class Strict(msgspec.Struct):
    metadata: Meta


class Bare(msgspec.Struct):
    data: dict[str, str] | None = None


async def test_a_bookmark_of_a_type_with_required_fields_still_has_its_version(
    server: ScriptedServer, client: Client
) -> None:
    stream = server.stream()

    async with client.resource(Strict, ("", "v1", "configmaps")).watch("ns", since()) as events:
        await stream.send(event("ADDED", 6), bookmark(7), event("ADDED", 8))

        assert await read_until(events, 3) == [("ADDED", "6"), ("BOOKMARK", "7"), ("ADDED", "8")]


async def test_a_refusal_is_raised_when_the_watch_is_opened(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    server.refuse(410, "Expired", "too old resource version: 5 (99)")

    with pytest.raises(Expired, match="too old resource version"):
        async with config_maps.watch("ns", since()):
            pass


async def test_a_busy_server_is_asked_again(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    server.answer(b"busy", 429, headers={"Retry-After": "0"})
    server.hang_up(b"HTTP/1.1 500 X\r\nRetry-After: 0\r\nContent-Length: 10\r\n\r\nhalf")
    stream = server.stream()

    async with anyio.create_task_group() as tasks:

        async def wake() -> None:
            await server.wait_for_requests(2)
            await eventually(lambda: clock.next_due == 1)
            clock.turn(1)

        tasks.start_soon(wake)
        async with config_maps.watch("ns", since()) as events:
            await stream.send(event("ADDED", 6))
            assert await read_until(events, 1) == [("ADDED", "6")]


async def test_leaving_closes_the_connection(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since()) as events:
        await stream.send(event("ADDED", 6))
        await anext(events)

    with anyio.fail_after(60):
        await stream.closed.wait()
    with pytest.raises(ConnectionLost, match="the watch is closed"):
        await anext(events)


async def test_cancelling_closes_the_connection(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    stream = server.stream()

    async def watch() -> None:
        async with config_maps.watch("ns", since()) as events:
            async for _ in events:
                pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await server.wait_for_requests(1)
        tasks.cancel_scope.cancel()

    with anyio.fail_after(60):
        await stream.closed.wait()


async def in_background(events: WatchStream[Any], tasks: Any) -> Callable[[], list[Any]]:
    """Read in a task; what it calls back with is what came, errors included."""
    found: list[Any] = []

    async def read() -> None:
        try:
            async for batch in events:
                found.extend(seen(batch))
            found.append("end")
        except Exception as error:
            found.append(error)

    tasks.start_soon(read)
    await anyio.wait_all_tasks_blocked()
    return lambda: found


async def until(found: Callable[[], list[Any]], count: int) -> list[Any]:
    await eventually(lambda: len(found()) >= count)
    return found()


async def test_a_silent_watch_is_replaced_and_nothing_is_lost(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    silent, fresh = server.stream(), server.stream()

    async with config_maps.watch("ns", since(5, timeout_seconds=600)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        await silent.send(event("ADDED", 6), b'{"type":"ADDED","obj')
        await until(found, 1)
        clock.turn(90)
        request = await server.wait_for_requests(2)
        assert request.query == "resourceVersion=6&timeoutSeconds=510&watch=true"
        await fresh.send(event("ADDED", 7))

        assert await until(found, 2) == [("ADDED", "6"), ("ADDED", "7")]
        with anyio.fail_after(60):
            await silent.closed.wait()
        tasks.cancel_scope.cancel()


async def test_a_quiet_watch_is_replaced_again_and_again_and_never_ends(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    for _ in range(4):
        server.stream()

    async with config_maps.watch("ns", since(5)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        for expected in (2, 3, 4):
            clock.turn(90)
            request = await server.wait_for_requests(expected)
            assert "resourceVersion=5" in request.query
            await eventually(lambda: clock.next_due == 90)
        assert found() == []
        tasks.cancel_scope.cancel()


async def test_a_watch_with_bookmarks_is_left_alone(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since(5)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        for version in range(6, 16):
            clock.turn(75)
            await stream.send(bookmark(version))
            await until(found, version - 5)
        tasks.cancel_scope.cancel()

    assert len(server.requests) == 1


async def test_a_watch_that_speaks_up_while_it_is_doubted_stays(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    old, late = server.stream(), Stream(b"")
    server._script.append(late)

    async with config_maps.watch("ns", since(5)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        clock.turn(90)
        await server.wait_for_requests(2)
        await old.send(event("ADDED", 6))
        await anyio.wait_all_tasks_blocked()
        await late.send_raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

        assert await until(found, 1) == [("ADDED", "6")]
        await old.send(event("ADDED", 7))
        assert (await until(found, 2))[1] == ("ADDED", "7")
        with anyio.fail_after(60):
            await late.closed.wait()
        tasks.cancel_scope.cancel()


async def test_a_silent_watch_of_a_server_that_is_gone_has_stalled(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    server.stream()
    server.hang()

    async with config_maps.watch("ns", since(5)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        clock.turn(90)
        await server.wait_for_requests(2)
        clock.turn(65)

        (error,) = await until(found, 1)

    assert isinstance(error, WatchStalled)
    assert "silent for 90 s, and lost the connection" in str(error)
    assert "did not begin to answer within 65 s" in str(error)


async def test_silence_is_noticed_also_at_a_time_that_is_rounded(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    server.stream()
    stream = server.stream()
    clock.turn(49.544)  # 90 s later less than 90 s have passed, by the arithmetic of floats

    async with config_maps.watch("ns", since(5)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        clock.turn(91)
        await server.wait_for_requests(2)
        await stream.send(event("ADDED", 6))

        assert await until(found, 1) == [("ADDED", "6")]
        tasks.cancel_scope.cancel()


async def test_a_version_that_has_expired_meanwhile_is_told(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    server.stream()
    server.refuse(410, "Expired", "too old resource version")

    async with config_maps.watch("ns", since(5)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        clock.turn(90)

        (error,) = await until(found, 1)

    assert isinstance(error, Expired)


@pytest.mark.parametrize("code", [429, 503])
async def test_a_server_too_busy_for_another_watch_keeps_the_present_one(
    code: int, server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    stream = server.stream()
    server.answer(b"busy", code)

    async with config_maps.watch("ns", since(5)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        clock.turn(90)
        await server.wait_for_requests(2)
        await stream.send(event("ADDED", 6))

        assert await until(found, 1) == [("ADDED", "6")]
        tasks.cancel_scope.cancel()


async def test_during_a_streaming_list_the_server_is_only_asked_for_life(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    stream, fresh = server.stream(), server.stream()
    server._script.pop()
    server.refuse(403, "Forbidden")
    server._script.append(fresh)
    options = ListOptions(send_initial_events=True, resource_version_match="NotOlderThan", allow_watch_bookmarks=True)

    async with config_maps.watch("ns", options) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        await stream.send(event("ADDED", 9), event("ADDED", 3), bookmark(4))
        await until(found, 3)
        assert events.resource_version == ""
        clock.turn(90)
        assert (await server.wait_for_requests(2)).target == "/version"
        await stream.send(bookmark(12, ends_initial=True), event("ADDED", 13))
        await until(found, 5)
        assert events.resource_version == "13"
        clock.turn(90)
        request = await server.wait_for_requests(3)
        assert request.query == "resourceVersion=13&allowWatchBookmarks=true&watch=true"
        tasks.cancel_scope.cancel()


async def test_a_streaming_list_from_a_server_that_is_gone_has_stalled(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    server.stream()
    server.hang_up()

    async with config_maps.watch("ns") as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        clock.turn(90)

        assert isinstance((await until(found, 1))[0], WatchStalled)


async def test_without_a_marker_any_bookmark_is_a_version_to_go_on_from(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since(0)) as events:
        await stream.send(event("ADDED", 9))
        await read_until(events, 1)
        assert events.resource_version == ""
        await stream.send(bookmark(12))
        await read_until(events, 1)
        assert events.resource_version == "12"


async def test_a_watch_that_outlives_its_time_in_silence_has_stalled(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    server.stream()

    options = since(5, timeout_seconds=300)
    async with config_maps.watch("ns", options, idle_timeout=None) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        clock.turn(314)
        await anyio.wait_all_tasks_blocked()
        assert found() == []
        clock.turn(1)

        (error,) = await until(found, 1)

    assert isinstance(error, WatchStalled)
    assert "still open 15 s after its time, and silent for 315 s" in str(error)
    assert len(server.requests) == 1


async def test_a_watch_that_outlives_its_time_but_still_speaks_goes_on(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    stream = server.stream()

    options = since(5, timeout_seconds=30)
    async with config_maps.watch("ns", options) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        for version in range(6, 16):
            clock.turn(10)
            await stream.send(event("ADDED", version))
            await until(found, version - 5)
        clock.turn(15)

        assert isinstance((await until(found, 11))[-1], WatchStalled)


async def test_a_busy_reader_does_not_mistake_its_silence_for_the_servers(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    stream = server.stream()

    async with config_maps.watch("ns", since(5)) as events:
        await stream.send(event("ADDED", 6))
        await read_until(events, 1)
        clock.turn(200)
        await stream.send(event("ADDED", 7))
        await anyio.wait_all_tasks_blocked()

        assert await read_until(events, 1) == [("ADDED", "7")]

    assert len(server.requests) == 1


async def test_no_timer_runs_when_nobody_wants_one(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    server.stream()

    async with config_maps.watch("ns", since(5), idle_timeout=None):
        assert clock.next_due is None


async def test_objects_without_metadata_can_be_watched_but_not_taken_up_again(
    server: ScriptedServer, client: Client, clock: FakeClock
) -> None:
    stream = server.stream()

    async with client.resource(Bare, ("", "v1", "configmaps")).watch("ns", since(5)) as events:
        await stream.send({"type": "ADDED", "object": {"data": {"a": "b"}}})
        with anyio.fail_after(60):
            (only,) = await anext(events)
        assert only.object.data == {"a": "b"}
        clock.turn(200)

    assert len(server.requests) == 1


async def test_a_watch_is_opened_for_all_namespaces_without_one(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    server.stream()

    with capture_logs() as logs:
        async with config_maps.watch():
            pass

    assert server.requests[0].target == "/api/v1/configmaps?watch=true"
    assert logs[0]["event"] == "watch_opened"


async def test_a_refusal_to_go_on_is_told(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    server.stream()
    server.refuse(403, "Forbidden", "no longer")

    async with config_maps.watch("ns", since(5)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        clock.turn(90)

        assert isinstance((await until(found, 1))[0], Forbidden)


async def test_an_event_at_the_timers_end_does_not_stop_the_timer(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    server.stream()
    line = msgspec.json.encode(event("ADDED", 6)) + b"\n"

    async with config_maps.watch("ns", since(5)) as events, anyio.create_task_group() as tasks:
        found = await in_background(events, tasks)
        events._stream._response._wire.data_received(b"%x\r\n%s\r\n" % (len(line), line))
        clock.turn(90)

        assert await until(found, 1) == [("ADDED", "6")]
        await anyio.wait_all_tasks_blocked()
        assert clock.next_due == 90
        tasks.cancel_scope.cancel()

    assert len(server.requests) == 1


async def test_an_event_without_an_end_does_not_fill_the_memory(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinformer.client.watch._MAX_LINE", 1000)
    stream = server.stream()

    async with config_maps.watch("ns", since(5)) as events:
        await stream.send(event("ADDED", 6), b"x" * 1001)

        assert await read_until(events, 1) == [("ADDED", "6")]
        with pytest.raises(DecodeError, match="an event of more than 1000 bytes"):
            await anext(events)


async def test_a_long_line_in_tiny_chunks_is_put_together_in_linear_time(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    # Copied whole with every chunk it would take minutes: the time limit of the tests would end it.
    stream, size = server.stream(), 4
    line = msgspec.json.encode({**event("ADDED", 6), "more": "x" * 1_500_000}) + b"\n"
    wire = b"".join(
        b"%x\r\n%s\r\n" % (len(line[at : at + size]), line[at : at + size]) for at in range(0, len(line), size)
    )

    async with config_maps.watch("ns", since()) as events, anyio.create_task_group() as tasks:

        async def send() -> None:
            for at in range(0, len(wire), 2**18):
                await stream.send_raw(wire[at : at + 2**18])

        tasks.start_soon(send)
        assert seen(await anext(events)) == [("ADDED", "6")]


async def test_a_watch_that_was_not_opened_says_how_to(config_maps: Resource[V1ConfigMap]) -> None:
    watch = config_maps.watch("ns")

    with pytest.raises(RuntimeError, match=r"was not opened: write `async with resource.watch"):
        async for _ in watch:
            pass
    with pytest.raises(RuntimeError, match=r"a watch is not awaited: write `async with resource.watch"):
        await watch


async def test_a_busy_server_is_awaited_as_it_asks_without_a_list(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap], clock: FakeClock
) -> None:
    for _ in range(10):
        server.answer(b"busy", 429, headers={"Retry-After": "30"})
    stream = server.stream()

    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            async with config_maps.watch("ns", since(5)) as events:
                assert seen(await anext(events)) == [("ADDED", "6")]

        tasks.start_soon(watch)
        for count in range(1, 11):
            await server.wait_for_requests(count)
            await eventually(lambda: clock.next_due == 30)
            clock.turn(30)
        await stream.send(event("ADDED", 6))

    assert {request.query for request in server.requests} == {"resourceVersion=5&watch=true"}
