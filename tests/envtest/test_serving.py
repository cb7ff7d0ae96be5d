"""Connections and bodies: what a client sends that is slow, packed, or never comes."""

from __future__ import annotations

import gzip
import json

import anyio
import pytest
from anyio.abc import ByteStream

from kinformer.envtest import ApiServer, serving
from kinformer.envtest.handlers import http as handler
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def connected(server: ApiServer) -> ByteStream:
    return await anyio.connect_tcp("127.0.0.1", server.port)


async def rest_of(stream: ByteStream) -> bytes:
    """All that comes until the server closes the connection."""
    received = b""
    with anyio.fail_after(60):
        try:
            while True:
                received += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return received


@pytest.mark.parametrize("head", [b"", b"GET /api HTTP/1.1\r\nHost: x\r\n"])
async def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    monkeypatch.setattr(serving, "IDLE_LIMIT", 0.01)
    async with ApiServer(plugins=False) as server, await connected(server) as stream:
        if head:
            await stream.send(head)
        assert await rest_of(stream) == b""


async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, server: ApiServer) -> None:
    monkeypatch.setattr(handler, "BODY_TIME", 0.01)
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\nAuthorization: Bearer {server.token}\r\n"
    async with await connected(server) as stream:
        await stream.send(head.encode() + b"\r\n{")
        with anyio.fail_after(60):
            answer = await stream.receive()
    assert answer.startswith(b"HTTP/1.1 504")
    assert b'"reason":"Timeout"' in answer


async def test_a_body_is_taken_as_it_was_sent(http: Http) -> None:
    """Kubernetes does not unpack bodies either: a small one that becomes a large one is only a bad one."""
    body = json.dumps({"metadata": {"name": "a"}}).encode()
    code, refused = await http("POST", CONFIG_MAPS, gzip.compress(body), **{"Content-Encoding": "gzip"})
    assert (code, refused["reason"]) == (400, "BadRequest")
    code, refused = await http("POST", CONFIG_MAPS, b"no gzip", **{"Content-Encoding": "gzip"})
    assert (code, refused["reason"]) == (400, "BadRequest")
    assert (await http("POST", CONFIG_MAPS, body, **{"Content-Encoding": "gzip"}))[0] == 201
