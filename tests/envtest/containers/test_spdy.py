"""Port-forward by SPDY inside a WebSocket: frames, and what a client may do that kubectl does not."""

from __future__ import annotations

import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import anyio
import pytest
from anyio.abc import ByteStream
from hypothesis import given, settings
from hypothesis import strategies as st

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.containers.forwarding import TUNNEL
from kinformer.envtest.containers.spdy import Data, Frame, Opened, Pinged, Reset, SpdyError, SpdyReader, SpdyWriter
from tests.client.pods import running_pod

FRAMES = st.one_of(
    st.builds(
        Opened,
        st.integers(1, 2**31 - 1),
        st.dictionaries(st.from_regex(r"[a-z-]{1,12}", fullmatch=True), st.text("abc /:0", max_size=40), max_size=5),
    ),
    st.builds(Data, st.integers(1, 2**31 - 1), st.binary(max_size=200), st.booleans()),
    st.builds(Reset, st.integers(1, 2**31 - 1)),
    st.builds(Pinged, st.integers(0, 2**32 - 1)),
)


def written(writer: SpdyWriter, frame: Frame) -> bytes:
    match frame:
        case Opened():
            return writer.open(frame.stream, frame.headers)
        case Data():
            return writer.data(frame.stream, frame.data, ends=frame.ends)
        case Reset():
            return writer.reset(frame.stream)
    return writer.ping(frame.number)


@settings(max_examples=40)
@given(st.lists(FRAMES, max_size=12), st.data())
def test_frames_come_out_as_they_went_in_however_their_bytes_are_cut(frames: list[Frame], data: st.DataObject) -> None:
    writer, reader = SpdyWriter(), SpdyReader()
    stream = b"".join(written(writer, frame) for frame in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert [frame for piece in pieces for frame in reader.feed(piece)] == frames


def test_replies_of_the_peer_are_skipped_but_their_headers_unpacked() -> None:
    writer, reader = SpdyWriter(), SpdyReader()
    received = writer.accept(1) + writer.open(3, {"Port": "80"})

    assert list(reader.feed(received)) == [Opened(3, {"port": "80"})]


def a_bomb() -> bytes:
    packed = SpdyWriter()._headers({"a": "x" * 1_000_000})
    return struct.pack(">II", 0x80030001, 10 + len(packed)) + bytes(10) + packed


@pytest.mark.parametrize(
    ("received", "complaint"),
    [
        (struct.pack(">II", 0x80020001, 0), "version 2: want 3"),
        (struct.pack(">II", 1, 0xFFFFFF), "a frame of 16777215 bytes"),
        (struct.pack(">II", 0x80030001, 4) + b"\0\0\0\1", "a frame ends in the middle"),
        (struct.pack(">II", 0x80030001, 14) + bytes(10) + b"abcd", "headers cannot be unpacked"),
        (struct.pack(">II", 0x80030003, 2) + b"ab", "a frame ends in the middle"),
        (a_bomb(), "headers of more than 65536 bytes"),
    ],
    ids=["version", "length", "no headers", "no zlib", "short", "bomb"],
)
def test_what_is_no_spdy_is_an_error_that_says_so(received: bytes, complaint: str) -> None:
    with pytest.raises(SpdyError, match=complaint):
        list(SpdyReader().feed(received))


def test_the_dictionary_is_that_of_the_specification() -> None:
    packed = SpdyWriter()._headers({"a": "b"})

    assert packed[2:6].hex() == "e3c6a7c2"  # zlib's number of the dictionary
    with pytest.raises(zlib.error):
        zlib.decompressobj().decompress(packed)


class Tunnel:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.writer = SpdyWriter()
        self.reader = SpdyReader()

    async def send(self, *pieces: bytes) -> None:
        await self.socket.send_bytes(b"".join(pieces))

    async def open(self, port: int, errors: int) -> None:
        for stream, kind in ((errors, "error"), (errors + 2, "data")):
            headers = {"streamType": kind, "port": str(port), "requestID": str(errors)}
            await self.send(self.writer.open(stream, headers))

    async def frames(self, number: int) -> list[Frame]:
        found: list[Frame] = []
        with anyio.fail_after(60):
            while len(found) < number:
                found += self.reader.feed(await self.socket.receive_bytes())
        return found


@asynccontextmanager
async def tunnel() -> AsyncIterator[tuple[ApiServer, Tunnel]]:
    async with (
        ApiServer(plugins=False, controllers=False) as server,
        connect(url=server.url, token=server.token) as client,
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {server.token}"}) as session,
    ):
        await running_pod(client)
        url = f"{server.url}/api/v1/namespaces/default/pods/web/portforward"
        async with session.ws_connect(url, protocols=(TUNNEL,)) as socket:
            assert socket.protocol == TUNNEL
            yield server, Tunnel(socket)


async def test_a_stream_that_is_reset_ends_its_function_and_no_other() -> None:
    ended: list[str] = []

    async def wait(stream: ByteStream) -> None:
        try:
            await stream.receive()
            await stream.send(b"yes")
        finally:
            ended.append("ended")

    async with tunnel() as (server, client):
        server.containers.port("web", 80, wait)
        await client.open(80, 1)
        await client.open(80, 5)
        await client.send(client.writer.reset(3), client.writer.ping(7))
        assert set(await client.frames(3)) == {Data(1, b"", True), Data(3, b"", True), Pinged(7)}
        assert ended == ["ended"]

        await client.send(client.writer.data(7, b"?"))
        assert await client.frames(3) == [Data(7, b"yes", False), Data(5, b"", True), Data(7, b"", True)]


async def test_streams_that_make_no_connection_are_refused() -> None:
    async with tunnel() as (_, client):
        for stream, headers in (
            (1, {"streamType": "data", "port": "80", "requestID": "0"}),  # without one for errors
            (3, {"streamType": "error", "port": "0", "requestID": "1"}),
            (5, {"streamType": "noise", "port": "80", "requestID": "2"}),
            (7, {}),
        ):
            await client.send(client.writer.open(stream, headers))
            assert await client.frames(1) == [Reset(stream)]


async def test_a_client_sending_nonsense_is_disconnected_and_the_server_goes_on() -> None:
    async with tunnel() as (server, client):
        await client.send(b"\x80\x02" + bytes(20))
        with anyio.fail_after(60):
            assert (await client.socket.receive()).type is aiohttp.WSMsgType.CLOSE
        async with connect(url=server.url, token=server.token) as other:
            assert (await other.server_version()).major == "1"


async def test_spdy_alone_is_refused_with_what_is_spoken_instead() -> None:
    async with ApiServer(plugins=False, controllers=False) as server:
        async with connect(url=server.url, token=server.token) as client:
            await running_pod(client)
        headers = {"Authorization": f"Bearer {server.token}", "Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
        url = f"{server.url}/api/v1/namespaces/default/pods/web/portforward"
        async with aiohttp.ClientSession() as session, session.post(url, headers=headers) as answer:
            said = await answer.json()
    assert (answer.status, said["message"]) == (
        400,
        "Upgrade request required: this server speaks WebSocket, and SPDY only inside one",
    )
