"""Dechunker: removes HTTP's chunked framing, a whole read at a time, without copying.

An API server sends each event of a watch as a chunk of its own, so this runs for every event.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import aiohttp

from kinformer.client.pieces import Pieces

__all__ = ("Dechunker",)

#: The greatest length of the line before a chunk. A server that sends a longer one does not speak HTTP.
_MAX_CHUNK_HEAD: Final = 256
_HEX_DIGITS: Final = b"0123456789abcdefABCDEF"
_LINE_END: Final = b"\r\n"


class Dechunker:
    """
    Removes HTTP's chunked framing, a whole read at a time. Trailers are ignored.

    :ivar finished: whether the last chunk has come
    :ivar is_exact: whether the body ended with it: neither trailers nor anything else came behind it
    """

    def __init__(self) -> None:
        self.finished = False
        self.is_exact = False
        self._head = b""  # the beginning of the next chunk's head, as far as it has come
        self._left = 0  # bytes of this chunk's body that are still to come
        self._skip = 0  # bytes of the line end after it that are still to come

    def feed(self, raw: bytes) -> Pieces:
        """
        Return the payload in these bytes: for each chunk, the part of it that has arrived. Nothing is copied.

        :raises aiohttp.ClientPayloadError: if these bytes are not chunks
        """
        if self.finished:  # trailers
            return Pieces(raw, [])
        if self._head:
            raw, self._head = self._head + raw, b""
        spans: list[tuple[int, int]] = []
        size = len(raw)
        find = raw.find
        at = min(self._left, size)
        if at:
            spans.append((0, at))
            self._left -= at
        if self._skip and not self._left:
            behind = raw[at : at + self._skip]
            if not _LINE_END[-self._skip :].startswith(behind):
                raise _bad_framing("end", behind)
            self._skip -= len(behind)
            at += len(behind)
        while at < size and not self._left:
            line_end = find(b"\n", at, at + _MAX_CHUNK_HEAD)
            if line_end < 0:
                if size - at >= _MAX_CHUNK_HEAD:
                    raise _bad_framing("size", raw[at : at + 32])
                self._head = raw[at:]
                break
            start = line_end + 1
            end = start + _chunk_size(raw[at:line_end])
            if end == start:
                self.finished = True
                self.is_exact = raw[start:] == b"\r\n"
                break
            at = end + 2
            if raw[end:at] != _LINE_END and not _LINE_END.startswith(raw[end:at]):
                raise _bad_framing("end", raw[end:at])
            if end > size:
                self._left = end - size
                if start == size:
                    break
            spans.append((start, min(end, size)))
        if self._left:
            self._skip = 2
        elif at > size:
            self._skip = at - size
        return Pieces(raw, spans)


# Sizes come again and again: with this, a chunk of 5.7 KB takes 0.5 µs instead of 0.9.
@lru_cache(2**12)
def _chunk_size(line: bytes) -> int:
    digits = line.removesuffix(b"\r")
    if b";" in digits:  # an extension, which nobody uses
        digits = digits.partition(b";")[0].rstrip(b" \t")
    # int() takes more: a sign, spaces, underscores, 0x.
    if not digits or digits.translate(None, _HEX_DIGITS):
        raise _bad_framing("size", line)
    return int(digits, 16)


def _bad_framing(part: str, found: bytes) -> aiohttp.ClientPayloadError:
    return aiohttp.ClientPayloadError(f"expected the {part} of a chunk, got {found!r}")
