"""SPDY/3.1, as far as port-forward needs it: bytes to frames, and frames to bytes.

kubectl forwards ports over SPDY, inside a WebSocket. There is no maintained Python library for SPDY. This is the part
that a server needs for streams that a client opens. There is no flow control, as in the Go library that Kubernetes
uses. Headers are compressed over the whole connection, with the dictionary of the specification
(``spdy_dictionary.yaml``).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kinformer.envtest.datafiles import read_yaml

__all__ = ("Data", "Frame", "Opened", "Pinged", "Reset", "SpdyError", "SpdyReader", "SpdyWriter")

_VERSION: Final = 3
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY, _HEADERS = 1, 2, 3, 6, 7, 8
_FIN: Final = 0x01

#: The most bytes of a frame, and of the headers in a frame.
_LONGEST_FRAME: Final = 1 << 20
_LONGEST_HEADERS: Final = 1 << 16


def _sized(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">I", len(data)) + data


_PARTS: Final = read_yaml(__package__, "spdy_dictionary.yaml")
_DICTIONARY: Final = b"".join([*map(_sized, _PARTS["words"]), *map(str.encode, _PARTS["text"])])


class SpdyError(Exception):
    """The bytes are not valid SPDY/3.1."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The other side has opened a stream. The names of its headers are in lower case."""

    stream: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a stream. `ends` is set if they are the last ones."""

    stream: int
    data: bytes
    ends: bool


@dataclass(frozen=True, slots=True)
class Reset:
    """A stream is cancelled."""

    stream: int


@dataclass(frozen=True, slots=True)
class Pinged:
    """A ping. The receiver sends it back."""

    number: int


Frame: TypeAlias = Opened | Data | Reset | Pinged


@dataclass(eq=False, slots=True)
class SpdyReader:
    """Decodes frames from received bytes. The pieces may be of any size."""

    _rest: bytes = b""
    _inflate: zlib._Decompress = field(default_factory=lambda: zlib.decompressobj(zdict=_DICTIONARY))

    def feed(self, data: bytes) -> Iterator[Frame]:
        """
        Take more bytes, and return the frames that are complete. Settings, window updates and GOAWAY are ignored.

        :raises SpdyError: if the bytes are not SPDY/3.1, or a frame is too long
        """
        self._rest += data
        while len(self._rest) >= 8:
            head, tail = struct.unpack(">II", self._rest[:8])
            flags, length = tail >> 24, tail & 0xFFFFFF
            if length > _LONGEST_FRAME:
                raise SpdyError(f"a frame of {length} bytes: want at most {_LONGEST_FRAME}")
            if len(self._rest) < 8 + length:
                return
            body, self._rest = self._rest[8 : 8 + length], self._rest[8 + length :]
            if not head >> 31:
                yield Data(head, body, bool(flags & _FIN))
            elif (head >> 16) & 0x7FFF != _VERSION:
                raise SpdyError(f"version {(head >> 16) & 0x7FFF}: want {_VERSION}")
            else:
                yield from self._control(head & 0xFFFF, flags, body)

    def _control(self, kind: int, flags: int, body: bytes) -> Iterator[Frame]:
        if kind == _SYN_STREAM:
            stream = _number(body) & 0x7FFFFFFF
            yield Opened(stream, self._headers(body[10:]))
            if flags & _FIN:
                yield Data(stream, b"", True)
        elif kind in (_SYN_REPLY, _HEADERS):
            self._headers(body[4:])  # the headers must be read, because the next ones are compressed with their help
            if flags & _FIN:
                yield Data(_number(body) & 0x7FFFFFFF, b"", True)
        elif kind == _RST_STREAM:
            yield Reset(_number(body) & 0x7FFFFFFF)
        elif kind == _PING:
            yield Pinged(_number(body))

    def _headers(self, packed: bytes) -> dict[str, str]:
        try:
            block = self._inflate.decompress(packed, _LONGEST_HEADERS)
        except zlib.error as error:
            raise SpdyError(f"headers cannot be unpacked: {error}") from error
        if self._inflate.unconsumed_tail:
            raise SpdyError(f"headers of more than {_LONGEST_HEADERS} bytes")
        texts: list[str] = []
        at = 4
        for _ in range(2 * _number(block)):
            size = _number(block[at : at + 4])
            text = block[at + 4 : at + 4 + size]
            if len(text) != size:
                raise SpdyError("headers end in the middle")
            texts.append(text.decode("latin-1"))
            at += 4 + size
        return {name.lower(): value for name, value in zip(texts[::2], texts[1::2], strict=True)}


@dataclass(eq=False, slots=True)
class SpdyWriter:
    """Encodes frames to bytes. They must be sent in the order in which they are made."""

    _deflate: zlib._Compress = field(default_factory=lambda: zlib.compressobj(zdict=_DICTIONARY))

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """Open a stream."""
        return _frame(_SYN_STREAM, struct.pack(">IIH", stream, 0, 0) + self._headers(headers))

    def accept(self, stream: int) -> bytes:
        """Accept a stream that the other side has opened."""
        return _frame(_SYN_REPLY, struct.pack(">I", stream) + self._headers({}))

    def data(self, stream: int, data: bytes, *, ends: bool = False) -> bytes:
        """Send bytes of a stream, at most 16 MB. `ends` is set for the last ones."""
        return struct.pack(">II", stream, (_FIN if ends else 0) << 24 | len(data)) + data

    def reset(self, stream: int) -> bytes:
        """Cancel a stream."""
        return _frame(_RST_STREAM, struct.pack(">II", stream, 5))  # CANCEL

    def ping(self, number: int) -> bytes:
        """Send a ping, or send it back."""
        return _frame(_PING, struct.pack(">I", number))

    def _headers(self, headers: Mapping[str, str]) -> bytes:
        block = struct.pack(">I", len(headers))
        block += b"".join(_sized(name.lower()) + _sized(value) for name, value in headers.items())
        return self._deflate.compress(block) + self._deflate.flush(zlib.Z_SYNC_FLUSH)


def _frame(kind: int, body: bytes) -> bytes:
    return struct.pack(">II", 1 << 31 | _VERSION << 16 | kind, len(body)) + body


def _number(data: bytes) -> int:
    if len(data) < 4:
        raise SpdyError("a frame ends in the middle")
    return int.from_bytes(data[:4], "big")
