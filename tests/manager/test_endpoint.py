from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import aiohttp
import anyio
import pytest
from aiohttp import web

from kinformer.manager.endpoint import Endpoint


@asynccontextmanager
async def serving(endpoint: Endpoint) -> AsyncIterator[aiohttp.ClientSession]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(endpoint.run)
        with anyio.fail_after(60):
            await endpoint.listening.wait()
            async with aiohttp.ClientSession(f"http://127.0.0.1:{endpoint.port}") as session:
                yield session
        tasks.cancel_scope.cancel()


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6 here")
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
async def test_an_endpoint_on_all_addresses_answers_on_those_of_both_families(host: str) -> None:
    endpoint = Endpoint(host=host)
    async with serving(endpoint) as session:
        for address in ("127.0.0.1", "[::1]"):
            async with session.get(f"http://{address}:{endpoint.port}/livez") as answer:
                assert answer.status == 200


def greetings() -> Iterable[web.AbstractRouteDef]:
    async def hello(request: web.Request) -> web.Response:
        return web.Response(text=f"hello {request.match_info['name']}")

    return [web.get("/hello/{name}", hello)]


async def test_the_routes_of_other_parts_are_served_beside_its_own() -> None:
    endpoint = Endpoint()
    endpoint.add_routes(greetings)
    async with serving(endpoint) as session:
        async with session.get("/hello/you") as answer:
            assert (answer.status, await answer.text()) == (200, "hello you")
        async with session.get("/livez") as answer:
            assert answer.status == 200


async def test_routes_that_come_too_late_are_refused() -> None:
    endpoint = Endpoint()
    async with serving(endpoint):
        with pytest.raises(RuntimeError, match="add routes before it runs"):
            endpoint.add_routes(greetings)


class Streaming:
    """A route that sends one piece and then nothing, for ever."""

    def __init__(self) -> None:
        self.ended = anyio.Event()

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        async def stream(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"data: 1\n\n")
            try:
                await anyio.sleep_forever()
            finally:
                self.ended.set()
            return response

        return [web.get("/stream", stream)]


async def test_a_handler_that_streams_has_ended_when_the_endpoint_has() -> None:
    streaming = Streaming()
    endpoint = Endpoint()
    endpoint.add_routes(streaming.routes)
    async with aiohttp.ClientSession() as client:
        async with serving(endpoint):
            answer = await client.get(f"http://127.0.0.1:{endpoint.port}/stream")
            assert await answer.content.readany() == b"data: 1\n\n"

        assert streaming.ended.is_set()


async def test_a_handler_that_streams_ends_when_its_client_is_gone() -> None:
    streaming = Streaming()
    endpoint = Endpoint()
    endpoint.add_routes(streaming.routes)
    async with serving(endpoint) as session:
        answer = await session.get("/stream")
        assert await answer.content.readany() == b"data: 1\n\n"
        answer.close()

        await streaming.ended.wait()
