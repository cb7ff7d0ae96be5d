"""Connections: keepalive, and the body of a watch on its way past aiohttp's parser."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from unittest.mock import Mock

import aiohttp
import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.client import raw_body
from kinformer.client.connection import Connector, body_of, configure_socket
from kinformer.client.dechunker import Dechunker
from kinformer.client.raw_body import RawBody, RawChunkedBody
from kinformer.client.tries import _STREAM_BUFFER
from tests.client.authority import Authority
from tests.client.conftest import ScriptedServer, eventually


def chunked(payloads: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(data), data) for data in payloads) + b"0\r\n\r\n"


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=8), st.lists(st.integers(0, 600), max_size=12))
def test_however_the_chunks_are_cut_the_payload_is_the_same(payloads: list[bytes], cuts: list[int]) -> None:
    wire = chunked(payloads)
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    dechunker = Dechunker()

    pieces = [piece for start, end in itertools.pairwise(edges) for piece in dechunker.feed(wire[start:end])]

    assert b"".join(pieces) == b"".join(payloads)
    assert dechunker.finished
    assert all(pieces)


def test_a_chunk_is_handed_out_before_all_of_it_is_there() -> None:
    dechunker = Dechunker()

    assert [bytes(piece) for piece in dechunker.feed(b"A\r\n01234")] == [b"01234"]
    assert [bytes(piece) for piece in dechunker.feed(b"56789\r\n1;name=value\r\nx")] == [b"56789", b"x"]
    assert not dechunker.finished


@pytest.mark.parametrize("wire", [b"xyz\r\n", b"-5\r\n", b"{" * 300])
def test_what_is_no_chunk_is_an_error(wire: bytes) -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match="expected the size of a chunk"):
        Dechunker().feed(wire)


def test_the_kernel_is_told_to_look_for_dead_peers() -> None:
    with socket.socket() as sock:
        configure_socket(sock)

        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == 5


def test_options_that_the_platform_lacks_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT"):
        monkeypatch.delattr(socket, name, raising=False)

    with socket.socket() as sock:
        configure_socket(sock)

        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


@asynccontextmanager
async def opened(url: str, limit: int = 1024) -> AsyncIterator[aiohttp.ClientResponse]:
    session = aiohttp.ClientSession(connector=Connector())
    async with session, session.get(url, read_bufsize=RawBody(limit)) as response:
        yield response


async def read_all(body: Any) -> bytes:
    found = b""
    while pieces := await body.read():
        found += b"".join(pieces)
    return found


async def test_the_body_goes_past_the_parser(server: ScriptedServer) -> None:
    stream = server.stream()

    async with opened(server.url) as response:
        body = body_of(response)
        assert not body.has_unread
        await stream.send(b"one\n", b"two\n")
        await stream.end()

        assert await read_all(body) == b"one\ntwo\n"
        assert await body.read() == []
        assert type(body).__name__ == "RawChunkedBody"


async def test_a_head_that_comes_in_bits_is_put_together(server: ScriptedServer) -> None:
    stream = server.stream()
    rest = b"X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc\n\r\n0\r\n"
    stream._head = b"HTTP/1.1 200 "

    async with anyio.create_task_group() as tasks:

        async def later() -> None:
            with anyio.fail_after(60):
                await stream.opened.wait()
            for byte in rest:
                await stream.send_raw(bytes([byte]))
                await asyncio.sleep(0)

        tasks.start_soon(later)
        async with opened(server.url) as response:
            assert await read_all(body_of(response)) == b"abc\n"


async def test_an_answer_that_is_not_chunked_is_left_to_aiohttp(server: ScriptedServer) -> None:
    stream = server.stream(chunked=False)

    async with opened(server.url) as response:
        body = body_of(response)
        assert type(body).__name__ == "_ParsedBody"
        assert not body.has_unread
        await stream.send(b"one\n")
        await stream.end()

        assert await read_all(body) == b"one\n"
        assert body.has_unread


async def test_a_refusal_is_left_to_aiohttp(server: ScriptedServer) -> None:
    server.answer(b"no", 403)

    async with opened(server.url) as response:
        assert (response.status, await response.read()) == (403, b"no")


async def test_an_answer_that_breaks_off_in_its_head_is_a_lost_connection(server: ScriptedServer) -> None:
    server.hang_up(b"HTTP/1.1 200 OK\r\nConte")

    async with aiohttp.ClientSession(connector=Connector()) as session:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.post(server.url, read_bufsize=RawBody(1024))


async def test_what_came_before_the_connection_broke_is_read_first(server: ScriptedServer) -> None:
    stream = server.stream()

    async with opened(server.url) as response:
        body = body_of(response)
        await stream.send(b"one\n")
        await stream.cut()
        await anyio.wait_all_tasks_blocked()

        assert b"".join(await body.read()) == b"one\n"
        with pytest.raises(aiohttp.ClientPayloadError, match="closed in the middle"):
            await body.read()


async def test_a_server_that_is_faster_than_the_reader_has_to_wait(server: ScriptedServer) -> None:
    stream = server.stream()
    line = b"x" * 65535 + b"\n"
    sent = 0

    async def flood() -> None:
        nonlocal sent
        for _ in range(300):
            await stream.send(line)
            sent += len(line)
        await stream.end()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(flood)
        async with opened(server.url, 2**16) as response:
            body = body_of(response)
            protocol = response.connection.protocol
            await eventually(lambda: protocol.raw._paused)
            await anyio.wait_all_tasks_blocked()
            assert protocol.raw._size < 2**20
            assert sent < 300 * len(line)

            assert len(await read_all(body)) == 300 * len(line)


@asynccontextmanager
async def opened_over_tls(
    url: str, authority: Authority, *, count: int = 1, limit: int = 1024
) -> AsyncIterator[list[aiohttp.ClientResponse]]:
    context = ssl.create_default_context(cafile=str(authority.ca))
    context.load_cert_chain(*authority.client)
    how: Any = {"ssl": context, "server_hostname": "kube.example", "read_bufsize": RawBody(limit)}
    async with aiohttp.ClientSession(connector=Connector()) as session, AsyncExitStack() as stack:
        yield [await stack.enter_async_context(session.get(url, **how)) for _ in range(count)]


async def test_over_tls_the_body_is_decrypted_into_one_buffer(
    server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    streams = [server.stream(), server.stream()]
    lines = [[f"{stream} {number} {'x' * number}\n".encode() for number in range(300)] for stream in range(2)]
    found: list[bytes] = []

    async with opened_over_tls(tls_server, authority, count=2) as responses:
        # In turn, so that what one has read lies there while the other's bytes come into the same buffer.
        for first, second in zip(*lines, strict=True):
            await streams[0].send(first)
            await streams[1].send(second)
        for stream, response in zip(streams, responses, strict=True):
            assert type(response.connection.transport.get_protocol()).__name__ == "_Decrypted"
            await stream.end()
            found.append(await read_all(body_of(response)))

    assert found == [b"".join(sent) for sent in lines]


async def test_the_newest_asyncio_can_share_the_buffer_of_encrypted_bytes(
    server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    # Should this fail, asyncio has changed inside: see kinformer.client.tls_buffer. Everything still works then, with
    # 256 KiB more for each connection.
    server.stream(), server.stream()

    async with opened_over_tls(tls_server, authority, count=2) as responses:
        transports: list[Any] = [response.connection.transport for response in responses]
        first, second = (transport._ssl_protocol for transport in transports)

        assert first is not second
        assert first.get_buffer(-1).obj is second.get_buffer(-1).obj


async def test_over_tls_what_came_before_the_connection_broke_is_read_first(
    server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    stream = server.stream()

    async with opened_over_tls(tls_server, authority) as (response,):
        body = body_of(response)
        await stream.send(b"one\n")
        assert b"".join(await body.read()) == b"one\n"
        await stream.send(b"two\n")
        await stream.cut()

        assert b"".join(await body.read()) == b"two\n"
        with pytest.raises(aiohttp.ClientPayloadError, match="closed in the middle"):
            await body.read()


async def test_over_tls_more_than_the_buffer_holds_comes_whole(
    server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    stream = server.stream()
    line = b"x" * 65535 + b"\n"

    async with anyio.create_task_group() as tasks:

        async def flood() -> None:
            for _ in range(100):
                await stream.send(line)
            await stream.end()

        tasks.start_soon(flood)
        async with opened_over_tls(tls_server, authority, limit=2**16) as (response,):
            body = body_of(response)
            protocol = response.connection.protocol
            await eventually(lambda: protocol.raw._paused)

            assert len(await read_all(body)) == 100 * len(line)


@pytest.mark.parametrize("read", [262_144, 256_000], ids=["asyncio", "uvloop"])
def test_a_full_read_of_a_loop_is_decoded_before_the_next_one(read: int) -> None:
    handler = Mock()
    body = RawChunkedBody(handler, _STREAM_BUFFER)

    body.feed(b"x" * read)

    handler.transport.pause_reading.assert_called_once_with()


async def test_a_connection_is_used_again_for_another_kind_of_request(server: ScriptedServer) -> None:
    server.answer(b"plain")
    server.answer(b"again")

    async with aiohttp.ClientSession(connector=Connector()) as session:
        async with session.get(server.url) as response:
            assert body_of(response).has_unread is False or await response.read() == b"plain"
            assert await response.read() == b"plain"
        async with session.get(server.url, read_bufsize=RawBody(1024)) as response:
            assert await response.read() == b"again"


async def test_another_aiohttp_falls_back_to_its_own_reader(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_body, "_BASE", object)
    stream = server.stream()

    connector = Connector()
    assert not connector.speaks_raw
    session = aiohttp.ClientSession(connector=connector)
    async with session, session.get(server.url, read_bufsize=RawBody(1024)) as response:
        await stream.send(b"one\n")
        await stream.end()

        assert await read_all(body_of(response)) == b"one\n"


async def test_the_newest_aiohttp_can_be_read_past_its_parser() -> None:
    # Should this fail, aiohttp has changed inside: see what became of the names in kinformer.client.raw_body. Watches
    # still work then, at the speed of aiohttp's own reader.
    connector = Connector()
    try:
        assert connector.speaks_raw
    finally:
        await connector.close()


async def test_an_aiohttp_without_these_insides_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import aiohttp.client_proto

    assert raw_body._handler_class() is aiohttp.client_proto.ResponseHandler
    with monkeypatch.context() as changed:
        changed.delattr(aiohttp.client_proto.ResponseHandler, "set_response_params")
        assert raw_body._handler_class() is object
    monkeypatch.delattr(aiohttp.client_proto, "ResponseHandler")
    assert raw_body._handler_class() is object
