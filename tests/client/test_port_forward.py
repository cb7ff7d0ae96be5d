"""Connections to ports of pods, through an embedded server whose ports are functions."""

from __future__ import annotations

import anyio
import pytest
from anyio.abc import ByteStream
from structlog.testing import capture_logs

from kinformer.client import BadRequest, ClientError, ConnectionLost, NotFound, Resource
from kinformer.envtest import ApiServer
from kinformer.models import V1Pod


async def shout(stream: ByteStream) -> None:
    async for data in stream:
        await stream.send(data.upper())


async def once(stream: ByteStream) -> None:
    await stream.send((await stream.receive()).upper())


async def test_bytes_go_to_a_port_and_come_back(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.port("web", 8080, shout)
    async with pods.port_forward("web", 8080, "default") as stream:
        await stream.send(b"hello")
        assert await stream.receive() == b"HELLO"
        await stream.send(b"again")
        assert await stream.receive(2) == b"AG"
        assert await stream.receive() == b"AIN"


async def test_much_goes_both_ways_at_once(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.port("web", 8080, shout)
    data = b"x" * 2**21
    received = bytearray()
    async with pods.port_forward("web", 8080, "default") as stream, anyio.create_task_group() as tasks:
        tasks.start_soon(stream.send, data)
        while len(received) < len(data):
            received += await stream.receive()
    assert bytes(received) == data.upper()


async def test_the_pods_side_ends_a_connection(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.port("web", 8080, once)
    async with pods.port_forward("web", 8080, "default") as stream:
        await stream.send(b"bye")
        assert await stream.receive() == b"BYE"
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()


async def test_a_connection_that_is_cut_is_an_error_and_no_end(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.port("web", 8080, shout)
    async with pods.port_forward("web", 8080, "default") as stream:
        await stream.send(b"x")
        await stream.receive()
        api.faults.cut_streams()
        with pytest.raises(ConnectionLost):
            await stream.receive()


async def test_a_port_on_which_nobody_listens_says_so(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.port("web", 8080, shout)
    async with pods.port_forward("web", 81, "default") as stream:
        with pytest.raises(ConnectionLost, match=r"port 81 to pod web: .*connection refused"):
            await stream.receive()


async def test_what_cannot_be_forwarded_is_refused(pods: Resource[V1Pod]) -> None:
    with pytest.raises(NotFound):
        async with pods.port_forward("gone", 80, "default"):
            pass
    with pytest.raises(BadRequest, match="ports"):
        async with pods.port_forward("web", 0, "default"):
            pass


async def test_one_direction_alone_cannot_be_closed(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.port("web", 8080, shout)
    async with pods.port_forward("web", 8080, "default") as stream:
        with pytest.raises(ClientError, match="one direction"):
            await stream.send_eof()


async def test_a_local_port_leads_to_the_pods(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.port("web", 8080, once)
    async with pods.local_port("web", 8080, "default") as port:
        for word in (b"one", b"two"):  # each connection is one of its own
            async with await anyio.connect_tcp("127.0.0.1", port) as local:
                await local.send(word)
                assert await local.receive() == word.upper()
                with pytest.raises(anyio.EndOfStream):
                    await local.receive()
    with pytest.raises(OSError):
        await anyio.connect_tcp("127.0.0.1", port)


async def test_a_local_port_goes_on_after_a_connection_that_failed(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.log("web")  # so the pod does not echo
    async with pods.local_port("web", 8080, "default") as port:
        with capture_logs() as logs:
            async with await anyio.connect_tcp("127.0.0.1", port) as local:
                with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    await local.receive()
        assert [it["event"] for it in logs] == ["port_forward_failed"]
        api.containers.port("web", 8080, once)
        async with await anyio.connect_tcp("127.0.0.1", port) as local:
            await local.send(b"now")
            assert await local.receive() == b"NOW"


async def test_leaving_the_block_ends_connections_that_are_open(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.port("web", 8080, shout)
    async with pods.local_port("web", 8080, "default") as port:
        local = await anyio.connect_tcp("127.0.0.1", port)
        await local.send(b"x")
        await local.receive()
    with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
        await local.receive()
    await local.aclose()
