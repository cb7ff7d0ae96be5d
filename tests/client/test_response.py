"""Response: heads and bodies, however they are cut, and what is none of them."""

from __future__ import annotations

import itertools
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.client.response import Response, read_response
from tests.client.test_dechunker import chunked


class Cut(Exception):
    """The peer says no more, and has not closed the connection."""


class PlayedWire:
    """Gives these pieces, one at a time, and then the end."""

    def __init__(self, pieces: list[bytes], *, ends: bool = True):
        self.pieces = [piece for piece in pieces if piece]
        self.ends = ends
        self.is_kept: bool | None = None

    async def receive(self) -> bytes:
        if self.pieces:
            return self.pieces.pop(0)
        if not self.ends:
            raise Cut
        return b""

    def expect(self, seconds: float | None) -> None: ...

    @property
    def has_unread(self) -> bool:
        return True

    def rest(self) -> bool:
        return not self.pieces

    def close(self) -> None:
        self.is_kept = False


async def answered(pieces: list[bytes], *, method: str = "GET", ends: bool = True) -> tuple[Response, bytes, Any]:
    wire: Any = PlayedWire(pieces, ends=ends)

    def keep(_: Any) -> None:
        wire.is_kept = True

    response = await read_response(wire, method, "url", keep, None)
    body = b""
    while found := await response.read():
        body += b"".join(found)
    response.release()
    return response, body, wire


FIELDS = b'Content-Type: application/json\r\nWarning: 299 - "a"\r\nWarning: 299 - "b"\r\n'
payload = st.binary(max_size=60)


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, bytes, bool]:
    """An answer, its body, and whether that ends by itself."""
    form = draw(st.sampled_from(["length", "chunks", "end"]))
    before = b"HTTP/1.1 100 Continue\r\n\r\n" * draw(st.integers(0, 2))
    line_end = draw(st.sampled_from([b"\r\n", b"\n"]))
    body = draw(payload)
    head = b"HTTP/1.1 200 OK\r\n" + FIELDS
    wire = body
    if form == "length":
        head += b"Content-Length: %d\r\n" % len(body)
    elif form == "chunks":
        head += b"transfer-encoding: Chunked\r\n"
        parts = draw(st.lists(st.binary(min_size=1, max_size=30), max_size=4))
        body, wire = b"".join(parts), chunked(parts)
    return before + (head + b"\r\n").replace(b"\r\n", line_end) + wire, body, form != "end"


@given(answers(), st.lists(st.integers(0, 400), max_size=8))
async def test_however_an_answer_is_cut_into_pieces_it_is_the_same(
    answer: tuple[bytes, bytes, bool], cuts: list[int]
) -> None:
    sent, body, ends_itself = answer
    edges = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]

    for pieces in ([sent[start:end] for start, end in itertools.pairwise(edges)], [bytes([byte]) for byte in sent]):
        response, found, _ = await answered(pieces, ends=not ends_itself)

        assert (response.status, found) == (200, body)
        assert response.headers["content-type"] == "application/json"
        assert response.headers.getall("Warning") == ['299 - "a"', '299 - "b"']


@given(answers())
async def test_an_answer_that_breaks_off_anywhere_is_never_taken_for_whole(answer: tuple[bytes, bytes, bool]) -> None:
    sent, body, ends_itself = answer
    # A chunked body is whole when its last chunk has come. The line end behind it says nothing.
    needed = len(sent) - 2 if sent.endswith(b"0\r\n\r\n") and ends_itself else len(sent)

    for cut in range(needed):
        try:
            _, found, wire = await answered([sent[:cut]])
        except aiohttp.ClientError:
            continue
        assert not ends_itself
        assert (body.startswith(found), wire.is_kept) == (True, False)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n", True),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x\r\nConnection: close\r\n\r\n", False),
    ],
)
async def test_an_answer_without_a_body_is_over_at_once(head: bytes, kept: bool, method: str) -> None:
    _, body, wire = await answered([head], method=method, ends=False)

    assert (body, wire.is_kept) == (b"", kept)


async def test_the_answer_to_head_has_no_body_whatever_its_length() -> None:
    _, body, wire = await answered([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"], method="HEAD", ends=False)

    assert (body, wire.is_kept) == (b"", True)


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 99 X\r\n\r\n",
        b"HTTP/1.1 2000 X\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"ICY 200 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\n\n",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: +1\r\n\r\nx",
        OK + b"Content-Length: 1_0\r\n\r\n",
        OK + b"Content-Length: 9" + b"9" * 18 + b"\r\n\r\n",
        OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        OK + "Content-Length: ٣\r\n\r\nxxx".encode(),
        OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"X: a\0b\r\n\r\n",
        OK + b"X: a\rContent-Length: 0\r\n\r\n",
        OK + b"X: y\r\n folded: z\r\n\r\n",
        OK + b"Content-Length : 1\r\n\r\nx",
        OK + b": y\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"X: " + b"a" * 2**18,
        OK + b"X: y\r\n" * 2**16,
    ],
)
async def test_what_is_no_answer_is_an_error(sent: bytes) -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match=r"no answer of HTTP|expected the size of a chunk"):
        await answered([sent], ends=False)
