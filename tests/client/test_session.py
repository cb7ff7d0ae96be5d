"""Sessions: what aiohttp would do by itself, and this client does not let it do."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp.connector
import pytest

from kinformer.client import Client, ClientError, ClientOptions, ConnectionLost, connect
from kinformer.client.permission import with_permission
from kinformer.clock import FakeClock
from kinformer.models import V1Pod
from tests.client.conftest import ScriptedServer, eventually


@asynccontextmanager
async def idle_connection(server: ScriptedServer, client: Client) -> AsyncIterator[Any]:
    """The server's end of a connection that has been used once and is kept."""
    server.answer(b"first")
    await client.request("GET", "/x")
    (writer,) = server._writers
    yield writer


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "partial", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"]
)
async def test_a_write_whose_connection_broke_is_sent_once(
    method: str, partial: bytes, server: ScriptedServer, client: Client
) -> None:
    asked: list[str] = []

    async with idle_connection(server, client):
        server.hang_up(partial)
        with with_permission(lambda: asked.append(method)), pytest.raises(ConnectionLost, match="lost the connection"):
            await client.request(method, "/x", body=b"{}")

    assert [request.method for request in server.requests] == ["GET", method]
    assert asked == [method]


async def test_a_request_without_retries_is_sent_once(server: ScriptedServer, client: Client) -> None:
    server.hang_up()

    with pytest.raises(ConnectionLost):
        await client._transport.probe()

    assert len(server.requests) == 1


async def test_a_write_takes_no_connection_that_the_server_has_closed(server: ScriptedServer, client: Client) -> None:
    async with idle_connection(server, client) as writer:
        server.answer(b"second")
        # The loop gets no turn in which it could notice that: as after a long sync of a controller.
        writer.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

        assert await client.request("DELETE", "/x") == b"second"

    assert len(server.requests) == 2


@pytest.mark.parametrize("noticed", [False, True])
async def test_an_answer_that_nobody_asked_for_answers_nothing(
    noticed: bool, server: ScriptedServer, client: Client
) -> None:
    async with idle_connection(server, client) as writer:
        server.answer(b"second")
        (idle,) = client._transport.addressing._route.idle
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        if noticed:
            await eventually(idle._transport.is_closing)

        assert await client.request("GET", "/x") == b"second"


@pytest.mark.parametrize("warnings", [["w"] * 4096, ["x" * 4096 * 4]])
async def test_no_number_or_length_of_warnings_costs_the_answer_to_a_write(
    warnings: list[str], server: ScriptedServer, client: Client
) -> None:
    lines = "".join(f'Warning: 299 - "{text}"\r\n' for text in warnings)
    server._script.append(f"HTTP/1.1 201 X\r\n{lines}Content-Length: 2\r\n\r\nok".encode())

    assert await client.request("POST", "/x", body=b"{}") == b"ok"


async def test_a_websocket_is_not_opened_elsewhere(server: ScriptedServer, clock: FakeClock) -> None:
    server.answer(b"", 307, headers={"Location": server.url.replace("127.0.0.1", "localhost") + "/y"})
    async with connect(
        url=server.url, token="t", options=ClientOptions(headers={"X-Mine": "1"}), clock=clock
    ) as client:
        with pytest.raises(ClientError, match="was to open a WebSocket, and answered 307"):
            await client.resource(V1Pod).run("web", ["ls"], "default")

    assert len(server.requests) == 1


async def test_neither_cookies_nor_the_environment_change_a_request(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password canary\n")
    monkeypatch.setenv("NETRC", str(netrc))
    server.answer(headers={"Set-Cookie": "a=canary"})
    server.answer()
    async with connect(url=server.url) as client:
        for method in ("GET", "POST"):
            await client.request(method, "/x")

    assert set(server.requests[0].headers) == {"host", "accept", "accept-encoding", "user-agent"}
    assert set(server.requests[1].headers) - set(server.requests[0].headers) <= {"content-length", "content-type"}


async def test_the_systems_resolver_is_used_whatever_is_installed(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(aiohttp.connector, "DefaultResolver")  # aiodns's, where that is installed
    server.answer(b"ok")

    async with connect(url=server.url.replace("127.0.0.1", "localhost")) as client:
        assert await client.request("GET", "/x") == b"ok"
