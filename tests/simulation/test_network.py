"""The network: what is written arrives later, in order, and connections break where somebody says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kinformer.simulation.loop import SimulatedLoop
from kinformer.simulation.network import End, Listener, Network, NetworkOptions

PORT = 80


def connected(
    use: Callable[[asyncio.StreamReader, asyncio.StreamWriter, list[asyncio.StreamWriter]], Awaitable[Any]],
    *,
    seed: int = 1,
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]] | None = None,
    options: NetworkOptions | None = None,
) -> Any:
    """What comes of a client that is connected to a server, which echoes unless it does something else."""
    loop = SimulatedLoop(seed)
    Network(loop, seed, options or NetworkOptions())

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            writer.write(data)

    async def main() -> Any:
        accepted: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.append(writer)
            try:
                await (answer or echo)(reader, writer)
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "10.0.0.1", PORT)
        reader, writer = await asyncio.open_connection("10.0.0.1", PORT)
        try:
            return await use(reader, writer, accepted)
        finally:
            writer.close()
            server.close()
            await asyncio.sleep(1)

    return loop.run_and_close(main)


def end_of(writer: asyncio.StreamWriter) -> End:
    assert isinstance(writer.transport, End)
    return writer.transport


def test_what_is_written_arrives_in_order_and_takes_time() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: Any) -> tuple[bytes, float]:
        began = asyncio.get_running_loop().time()
        for number in range(100):
            writer.write(b"%03d" % number)
        return await reader.readexactly(300), asyncio.get_running_loop().time() - began

    got, seconds = connected(use)

    assert got == b"".join(b"%03d" % number for number in range(100))
    assert 0.0004 <= seconds < 0.1


def test_how_long_it_takes_comes_from_the_seed() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: Any) -> float:
        writer.write(b"x")
        await reader.read(1)
        return asyncio.get_running_loop().time()

    assert connected(use, seed=1) == connected(use, seed=1) != connected(use, seed=2)


def test_what_is_written_at_once_may_arrive_in_two_pieces() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: Any) -> bytes:
        writer.write(b"together")
        return await reader.read(100)

    got = connected(use, options=NetworkOptions(pieces=1.0))

    assert len(got) < len(b"together")
    assert b"together".startswith(got)


def test_a_connection_that_is_closed_ends_after_all_that_was_written() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"last words")

    async def use(reader: asyncio.StreamReader, *_: Any) -> bytes:
        return await reader.read()

    assert connected(use, answer=answer) == b"last words"


def test_a_connection_that_breaks_is_an_error_at_the_other_end() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: list[Any]) -> None:
        writer.write(b"x")
        await reader.read(1)
        accepted[0].transport.abort()
        with pytest.raises(ConnectionResetError):
            await reader.read(1)

    connected(use)


def test_what_is_sent_can_be_lost_after_some_bytes_of_it() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: list[Any]) -> bytes:
        writer.write(b"x")
        await reader.read(1)
        end_of(accepted[0]).loses_after = 4
        accepted[0].write(b"cut in the middle")
        got = await reader.readexactly(4)
        with pytest.raises(ConnectionResetError):
            await reader.read(100)
        return got

    assert connected(use) == b"cut "


def test_a_silent_direction_delivers_later_what_was_sent_meanwhile() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: list[Any]) -> float:
        writer.write(b"x")
        await reader.read(1)
        began = asyncio.get_running_loop().time()
        end_of(accepted[0]).be_silent(60)
        writer.write(b"y")
        assert await reader.read(1) == b"y"
        return asyncio.get_running_loop().time() - began

    assert connected(use) == pytest.approx(60, abs=0.1)


def test_who_writes_faster_than_the_other_reads_has_to_wait() -> None:
    async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await asyncio.sleep(100)
        while await reader.read(2**20):
            pass

    async def use(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: Any) -> float:
        for _number in range(10):
            writer.write(b"x" * 2**16)
            await writer.drain()
        return asyncio.get_running_loop().time()

    assert connected(use, answer=answer) > 100


@pytest.mark.parametrize("is_closing", [False, True])
def test_where_nobody_takes_connections_they_are_refused(is_closing: bool) -> None:
    loop = SimulatedLoop(1)
    network = Network(loop, 1)

    async def main() -> None:
        if is_closing:
            network.listen(asyncio.Protocol, None, None, Listener("10.0.0.1", PORT))
            loop.remove_reader(Listener("10.0.0.1", PORT))
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("10.0.0.1", PORT)

    loop.run_and_close(main)


def test_an_address_is_taken_once() -> None:
    loop = SimulatedLoop(1)
    network = Network(loop, 1)
    network.listen(asyncio.Protocol, "10.0.0.1", PORT)

    with pytest.raises(OSError, match="in use"):
        network.listen(asyncio.Protocol, "10.0.0.1", PORT)
    loop.close()
