"""Wire: the bytes of a connection, as they come from the socket."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from unittest.mock import Mock

import aiohttp
import anyio
import pytest
from multidict import CIMultiDict
from yarl import URL

from kinformer.client.buffers import unsent
from kinformer.client.connection import Connections, Way
from kinformer.client.response import Response
from kinformer.client.wire import Wire
from kinformer.clock import FakeClock, RealClock
from tests.client.authority import Authority
from tests.client.conftest import ScriptedServer, eventually

TOO_MUCH = 300


@asynccontextmanager
async def opened(url: str, tls: ssl.SSLContext | None = None) -> AsyncIterator[Response]:
    connections = Connections(RealClock())
    route = connections.route(Way(URL(url), tls, "kube.example" if tls else None))
    fields = route.fields(CIMultiDict())
    try:
        yield await route.exchange("GET", url, "/", fields, None, within=60, read_timeout=None)
    finally:
        await connections.close()


@asynccontextmanager
async def opened_over_tls(url: str, authority: Authority, count: int = 1) -> AsyncIterator[list[Response]]:
    context = ssl.create_default_context(cafile=str(authority.ca))
    context.load_cert_chain(*authority.client)
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(opened(url, context)) for _ in range(count)]


async def read_all(response: Response) -> bytes:
    found = b""
    while pieces := await response.read():
        found += b"".join(pieces)
    return found


def wire_on(transport: Any, clock: Any = None) -> Wire:
    transport.is_closing.return_value = False
    transport.get_write_buffer_size.return_value = 0
    transport.get_extra_info.return_value = None
    connection = Mock(transport=transport)
    connection.protocol.should_close = False
    wire = Wire(connection, clock or FakeClock())
    wire.send(b"", None)
    return wire


async def test_what_came_before_the_connection_broke_is_read_first(server: ScriptedServer) -> None:
    stream = server.stream()

    async with opened(server.url) as response:
        await stream.send(b"one\n")
        await stream.cut()
        await anyio.wait_all_tasks_blocked()

        assert b"".join(await response.read() or ()) == b"one\n"
        with pytest.raises(aiohttp.ClientPayloadError, match="closed in the middle"):
            await response.read()


async def test_over_tls_what_came_before_the_connection_broke_is_read_first(
    server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    stream = server.stream()

    async with opened_over_tls(tls_server, authority) as (response,):
        await stream.send(b"one\n")
        assert b"".join(await response.read() or ()) == b"one\n"
        await stream.send(b"two\n")
        await stream.cut()

        assert b"".join(await response.read() or ()) == b"two\n"
        with pytest.raises(aiohttp.ClientPayloadError, match="closed in the middle"):
            await response.read()


@pytest.mark.parametrize("over_tls", [False, True])
async def test_a_server_that_is_faster_than_the_reader_has_to_wait(
    over_tls: bool, server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    stream = server.stream()
    line = b"x" * 65535 + b"\n"
    sent = 0

    async def flood() -> None:
        nonlocal sent
        for _ in range(TOO_MUCH):
            await stream.send(line)
            sent += len(line)
        await stream.end()

    context = ssl.create_default_context(cafile=str(authority.ca))
    context.load_cert_chain(*authority.client)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(flood)
        async with opened(tls_server if over_tls else server.url, context if over_tls else None) as response:
            wire = response._wire
            await eventually(lambda: wire._paused)
            await anyio.wait_all_tasks_blocked()
            assert wire._size < 2**20
            assert sent < TOO_MUCH * len(line)

            assert len(await read_all(response)) == TOO_MUCH * len(line)


async def test_connections_over_tls_share_a_buffer_and_mix_nothing_up(
    server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    streams = [server.stream(), server.stream()]
    lines = [[f"{stream} {number} {'x' * number}\n".encode() for number in range(300)] for stream in range(2)]
    found: list[bytes] = []

    async with opened_over_tls(tls_server, authority, count=2) as responses:
        first, second = (response._wire for response in responses)
        assert first.get_buffer(-1).obj is second.get_buffer(-1).obj
        # In turn, so that what one has read lies there while the other's bytes come into the same buffer.
        for one, two in zip(*lines, strict=True):
            await streams[0].send(one)
            await streams[1].send(two)
        for stream, response in zip(streams, responses, strict=True):
            await stream.end()
            found.append(await read_all(response))

    assert found == [b"".join(sent) for sent in lines]


async def test_the_newest_asyncio_can_share_the_buffer_of_encrypted_bytes(
    server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    # Should this fail, asyncio has changed inside: see kinformer.client.buffers. Everything still works then, with
    # 256 KiB more for each connection.
    server.stream(), server.stream()

    async with opened_over_tls(tls_server, authority, count=2) as responses:
        first, second = (response._wire._transport._ssl_protocol for response in responses)

        assert first is not second
        assert first.get_buffer(-1).obj is second.get_buffer(-1).obj


async def test_the_newest_asyncio_can_take_the_short_way_through_tls(
    server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    # Should this fail, asyncio has changed inside: see kinformer.client.buffers. Everything still works then, slower.
    server.stream()

    async with opened_over_tls(tls_server, authority) as (response,):
        assert response._wire._write == response._wire._transport._ssl_protocol.send


@pytest.mark.parametrize(("length", "left"), [(300, 0), (20_000_000, 20_000_000)])
def test_a_long_write_counts_as_unsent_where_nothing_shows_it(length: int, left: int) -> None:
    # uvloop's transport shows neither its protocol nor the transport below. A cancelled write would be sent to its end.
    transport = Mock(asyncio.WriteTransport)
    transport.get_write_buffer_size.return_value = 0
    transport.get_extra_info = {"ssl_object": object()}.get

    assert unsent(transport, length) == left


@asynccontextmanager
async def cutting(url: str, size: int) -> AsyncIterator[str]:
    """A relay to a server. What the server sends arrives in pieces of this size."""
    ends: list[asyncio.StreamWriter] = []

    async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter, size: int) -> None:
        while data := await source.read(size):
            sink.write(data)
            await sink.drain()
            await asyncio.sleep(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", URL(url).port)
        ends.extend((writer, to_server))
        await asyncio.gather(pass_on(reader, to_server, 2**16), pass_on(from_server, writer, size))

    relay = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"https://127.0.0.1:{relay.sockets[0].getsockname()[1]}"
    for end in ends:
        end.close()
    relay.close()


@pytest.mark.parametrize("size", [11, 1000, 2**16])
async def test_records_of_tls_arrive_whole_wherever_they_are_cut(
    size: int, server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    stream = server.stream()
    lines = [b"x" * length + b"\n" for length in (1, 500, 5000, 70_000, 3)]

    async with cutting(tls_server, size) as url, opened_over_tls(url, authority) as (response,):
        for line in lines:
            await stream.send(line)
        await stream.end()

        assert await read_all(response) == b"".join(lines)


@pytest.mark.parametrize("read", [262_144, 256_000], ids=["asyncio", "uvloop"])
async def test_a_full_read_of_a_loop_is_decoded_before_the_next_one(read: int) -> None:
    transport = Mock()
    wire = wire_on(transport)

    wire.data_received(b"x" * read)
    transport.pause_reading.assert_called_once_with()

    assert await wire.receive() == b"x" * read
    transport.resume_reading.assert_called_once_with()


async def test_a_reader_that_takes_long_is_not_the_servers_fault() -> None:
    clock = FakeClock()
    wire = wire_on(Mock(), clock)
    wire.expect(10)
    wire.data_received(b"x")

    clock.turn(11)

    assert await wire.receive() == b"x"
    assert not wire.has_unread
    wire.expect(10)
    async with anyio.create_task_group() as tasks:

        async def wait() -> None:
            with pytest.raises(TimeoutError):
                await wire.receive()

        tasks.start_soon(wait)
        await clock.advance(10)


async def test_one_timer_serves_the_requests_of_a_connection() -> None:
    clock = FakeClock()
    wire = wire_on(Mock(), clock)

    for elapsed in (0, 10, 20):
        wire.send(b"", 60)
        assert clock.next_due == 60 - elapsed
        assert wire.rest()
        clock.turn(10)

    clock.turn(60)
    assert clock.next_due is None
    assert not wire.has_unread  # nobody was late


async def test_a_shorter_limit_than_that_of_the_last_request_counts() -> None:
    clock = FakeClock()
    wire = wire_on(Mock(), clock)
    wire.send(b"", 60)
    wire.rest()
    wire.send(b"", 5)
    async with anyio.create_task_group() as tasks:

        async def wait() -> None:
            with pytest.raises(TimeoutError):
                await wire.receive()

        tasks.start_soon(wait)
        await clock.advance(5)
        with anyio.fail_after(60):
            await anyio.wait_all_tasks_blocked()
        assert wire.has_unread


async def test_a_system_error_on_the_wire_is_a_lost_connection() -> None:
    wire = wire_on(Mock())

    wire.connection_lost(TimeoutError(110, "Connection timed out"))  # the kernel's, of TCP_USER_TIMEOUT

    with pytest.raises(aiohttp.ClientOSError, match="timed out"):
        await wire.receive()
