"""Connections: keepalive, what is kept for the next request, and what is not."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import anyio
import pytest
from multidict import CIMultiDict
from yarl import URL

from kinformer.client import Client, ClientOptions, ConfigError, ConnectionLost, connect, connection
from kinformer.client.connection import Connections, Route, Way, configure_socket
from kinformer.client.permission import with_permission
from kinformer.client.tls import TlsSource
from kinformer.clock import RealClock
from tests.client.authority import Authority
from tests.client.conftest import ScriptedServer, eventually


@pytest.fixture
async def connections() -> AsyncIterator[Connections]:
    found = Connections(RealClock())
    yield found
    await found.close()


async def ask(route: Route, method: str = "GET", body: bytes | None = None) -> bytes:
    fields = route.fields(CIMultiDict())
    response = await route.exchange(method, "url", "/x", fields, body, within=60, read_timeout=60)
    found = b""
    while pieces := await response.read():
        found += b"".join(pieces)
    response.release()
    return found


def way_over_tls(url: str, authority: Authority) -> Way:
    context = ssl.create_default_context(cafile=str(authority.ca))
    context.load_cert_chain(*authority.client)
    return Way(URL(url), context, "kube.example")


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


@pytest.mark.parametrize(
    ("head", "count"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 1),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 1),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", 2),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 2),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n", 2),
        (b"HTTP/1.1 204 No\r\n\r\nmore", 2),
    ],
)
async def test_a_connection_is_used_again_if_the_answer_allows_it(
    head: bytes, count: int, server: ScriptedServer, connections: Connections
) -> None:
    server._script += [head, head]
    route = connections.route(Way(URL(server.url)))
    connected = []
    serve = server._serve_one

    async def counting(reader: Any, writer: Any) -> bool:
        connected.append(writer)
        return await serve(reader, writer)

    server._serve_one = counting  # type: ignore[method-assign]

    assert {await ask(route), await ask(route)} <= {b"ok", b""}
    assert len(set(connected)) == count


async def test_an_idle_connection_is_closed_in_time(
    server: ScriptedServer, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_IDLE_LIMIT", 0.01)
    server.answer(times=2)
    route = connections.route(Way(URL(server.url)))

    for _ in range(2):
        await ask(route)
        assert len(route.idle) == 1
        await eventually(lambda: not route.idle and not server._writers)


async def test_a_request_that_may_not_be_sent_costs_no_connection(
    server: ScriptedServer, connections: Connections
) -> None:
    server.answer(times=2)
    route = connections.route(Way(URL(server.url)))
    await ask(route)
    (idle,) = route.idle

    def refuse() -> None:
        raise PermissionError("no longer the leader")

    with with_permission(refuse), pytest.raises(PermissionError, match="no longer"):
        await ask(route, "PUT", b"{}")

    assert route.idle == [idle]
    assert len(server.requests) == 1


async def test_a_request_that_is_cancelled_leaves_nothing_behind(server: ScriptedServer, client: Client) -> None:
    server.answer()
    await client.request("GET", "/x")
    server.hang()
    stream = server._script[0]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.request, "PUT", "/x")
        await server.wait_for_requests(2)
        tasks.cancel_scope.cancel()

    with anyio.fail_after(60):
        await stream.closed.wait()
    transport: Any = client._transport
    assert transport.addressing._route.idle == []
    assert not transport.connections.connector._acquired


@pytest.mark.parametrize("over_tls", [False, True])
async def test_an_answer_before_all_was_sent_ends_the_connection(
    over_tls: bool, server: ScriptedServer, tls_server: str, authority: Authority, connections: Connections
) -> None:
    asked = anyio.Event()

    async def answer_early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.pause_reading()
        writer.write(b"HTTP/1.1 413 X\r\nContent-Length: 2\r\n\r\nno")
        await asked.wait()
        return False

    server._serve_one = answer_early  # type: ignore[method-assign]
    route = connections.route(way_over_tls(tls_server, authority) if over_tls else Way(URL(server.url)))

    try:
        assert await ask(route, "PUT", b"x" * 20_000_000) == b"no"

        assert route.idle == []
    finally:
        asked.set()


@pytest.mark.parametrize("over_tls", [False, True])
async def test_what_is_unsent_when_a_write_is_cancelled_is_never_sent(
    over_tls: bool, server: ScriptedServer, tls_server: str, authority: Authority, connections: Connections
) -> None:
    begun, went_on = anyio.Event(), anyio.Event()
    found = 0

    async def read_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        nonlocal found
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.pause_reading()
        begun.set()
        await went_on.wait()
        writer.transport.resume_reading()
        try:
            while more := await reader.read(2**20):
                found += len(more)
        finally:
            ended.set()
        return False

    ended = anyio.Event()
    server._serve_one = read_late  # type: ignore[method-assign]
    route = connections.route(way_over_tls(tls_server, authority) if over_tls else Way(URL(server.url)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, route, "PUT", b"x" * 20_000_000)
        await begun.wait()
        tasks.cancel_scope.cancel()
    went_on.set()

    with anyio.fail_after(60):
        await ended.wait()
    assert found < 20_000_000


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/x y", {}),
        ("/x\r\nX: y", {}),
        ("/ü", {}),
        ("/x", {"X\r\nY": "z"}),
        ("/x", {"X ": "z"}),
        ("/x", {"content-length": "0"}),
        ("/x", {"Transfer-Encoding": "chunked"}),
    ],
)
async def test_what_no_request_can_hold_is_not_sent(
    path: str, headers: dict[str, str], server: ScriptedServer, client: Client
) -> None:
    with pytest.raises(ConfigError, match="cannot be sent"):
        await client.request("GET", path, headers=headers)

    assert server.requests == []


async def test_a_body_that_stops_coming_is_given_up(server: ScriptedServer) -> None:
    stream = server.stream()
    stream._head += b"3\r\none\r\n"
    async with connect(url=server.url, options=ClientOptions(read_timeout=0.05)) as client:
        with pytest.raises(ConnectionLost, match=r"nothing came for 0\.05 s"):
            await client.request("GET", "/x")

    with anyio.fail_after(60):
        await stream.closed.wait()


async def test_a_new_certificate_makes_new_connections(
    server: ScriptedServer, tls_server: str, authority: Authority, connections: Connections
) -> None:
    cert, key = authority.client
    source = TlsSource(ca_file=authority.ca)
    server.answer(b"one", times=3)
    first, other = (
        connections.route(
            Way(URL(tls_server), source.context((cert.read_bytes() + end, key.read_bytes())), "kube.example")
        )
        for end in (b"", b"\n")
    )

    for route in (first, first, other):
        assert await ask(route) == b"one"

    assert (len(first.idle), len(other.idle)) == (1, 1)


async def test_a_server_that_speaks_first_is_not_listened_to(connections: Connections) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        await reader.read(-1)
        writer.close()

    listener = await asyncio.start_server(greet, "127.0.0.1", 0)
    route = connections.route(Way(URL(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")))
    connector: Any = connections.connector
    connect_ = connector.connect

    async def connect_late(*args: Any) -> aiohttp.connector.Connection:
        made = await connect_(*args)
        await eventually(lambda: made.protocol.should_close)
        return made

    connector.connect = connect_late
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await ask(route)
    listener.close()
