"""Dechunker: however the wire cuts them, the same bytes come out."""

from __future__ import annotations

import itertools

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.client.dechunker import Dechunker


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


@pytest.mark.parametrize(
    "wire",
    [b"xyz\r\n", b"-5\r\n", b"{" * 300, b"\r\n", b"0x2\r\n", b"1_0\r\n", b"+2\r\n", b" 2\r\n", b";a\r\n"],
)
def test_what_is_no_chunk_is_an_error(wire: bytes) -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match="expected the size of a chunk"):
        Dechunker().feed(wire)


@pytest.mark.parametrize("wire", [b"2\r\nokXX0\r\n\r\n", b"2\r\nok\rX0\r\n\r\n", b"2\nok\n0\n\n"])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_chunk_that_is_longer_than_its_size_is_an_error(wire: bytes, at_once: bool) -> None:
    dechunker = Dechunker()
    reads = [wire] if at_once else [bytes([byte]) for byte in wire]

    with pytest.raises(aiohttp.ClientPayloadError, match="expected the end of a chunk"):
        list(map(dechunker.feed, reads))
