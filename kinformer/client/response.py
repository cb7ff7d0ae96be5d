"""Response: the head of an answer, and its body as it arrives.

A response is read by the rules of RFC 9112, as far as servers use them: a body has a length, comes in chunks, or ends
with its connection. Trailers are ignored. Everything that is sent may be cut anywhere, and nothing is believed without
limits: a head has 256 KiB at most, and what is no answer is an error of the request.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Protocol

import aiohttp
from multidict import CIMultiDict

from kinformer.client.dechunker import Dechunker
from kinformer.client.pieces import Pieces
from kinformer.client.wire import Wire

__all__ = ("Response", "is_header_name", "read_response")

#: Bytes. An API server may send 4,096 characters of warnings, each in a header of its own.
_MAX_HEAD: Final = 2**18

_BEGIN: Final = b"HTTP/1."
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_HEAD: Final = re.compile(
    rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: [^\r\n\0]*)?((?:\r?\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*)*)\r?"
)
#: The headers that this client reads. To take apart all headers of an answer would take three times as long.
_READ: Final = re.compile(
    rb"\n(Connection|Content-(?:Encoding|Length|Type)|Location|Retry-After|Transfer-Encoding|Warning):([^\r\n]*)", re.I
)
_LENGTH: Final = re.compile(r"[0-9]{1,18}")
is_header_name: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_WITHOUT_BODY: Final = frozenset({204, 304})
_SWITCHED: Final = 101


class _Framing(Protocol):
    """
    Finds the end of a body.

    :ivar finished: whether it was found
    :ivar is_exact: whether nothing came after it
    """

    finished: bool

    @property
    def is_exact(self) -> bool: ...

    def feed(self, raw: bytes) -> Pieces:
        """Return the pieces of the body in what has arrived."""


class Response:
    """
    An answer whose head has come. Its body is read once, by one task.

    :param headers: those that the client reads
    :param read_timeout: seconds without a byte of the body after which it fails; None: never
    :param done: called when all of it was read, and another request can use the connection
    """

    __slots__ = ("_body", "_done", "_keep", "_rest", "_wire", "headers", "read_timeout", "status", "url")

    def __init__(
        self,
        url: str,
        status: int,
        headers: CIMultiDict[str],
        wire: Wire,
        body: tuple[_Framing, bytes, bool],
        done: Callable[[Wire], Any],
        read_timeout: float | None,
    ):
        self.url = url
        self.status = status
        self.headers = headers
        self.read_timeout = read_timeout
        self._wire = wire
        self._body, self._rest, self._keep = body
        self._done = done

    async def read(self) -> Pieces | None:
        """
        Return everything that has arrived and was not read yet, in pieces.

        It waits until there is something. The result is empty at the end of the body, and None if the wait was
        interrupted.

        :raises aiohttp.ClientError: if the connection broke, after everything before was read
        :raises TimeoutError: if nothing came for too long
        """
        body, wire = self._body, self._wire
        while not body.finished:
            raw: bytes | None = self._rest
            if raw:
                self._rest = b""
            else:
                wire.expect(self.read_timeout)
                try:
                    raw = await wire.receive()
                except aiohttp.ClientOSError as error:
                    raise _cut() from error
                if raw is None:
                    return None
            if not raw:
                if not isinstance(body, _ToTheEnd):
                    raise _cut()
                break
            if pieces := body.feed(raw):
                return pieces
        return Pieces(b"", [])

    def interrupt(self) -> None:
        """Have a :meth:`read` that waits return None."""
        self._wire.interrupt()

    @property
    def has_unread(self) -> bool:
        """Whether :meth:`read` would return at once."""
        return self._body.finished or bool(self._rest) or self._wire.has_unread

    def release(self) -> None:
        """Let another request use the connection, if the body was read. Otherwise the connection is closed."""
        is_over = self._body.finished and self._body.is_exact and not self._rest
        if self._keep and is_over and self._wire.rest():
            self._done(self._wire)
        else:
            self._wire.close()

    def close(self) -> None:
        """Close the connection. Closing it again has no effect."""
        self._wire.close()


async def read_response(
    wire: Wire, method: str, url: str, done: Callable[[Wire], Any], read_timeout: float | None
) -> Response:
    """
    Wait for the head of the answer to a request. Interim answers (1xx) are left out.

    :raises aiohttp.ClientError: if the connection broke, or what came is no answer
    :raises TimeoutError: if it did not come in time
    """
    data: bytes | bytearray = b""
    looked = 0
    while True:
        end = _HEAD_END.search(data, looked)
        if end is not None:
            version, status, headers = _parse(bytes(data[: end.start()]))
            data, looked = bytes(data[end.end() :]), 0
            if status >= 200:
                wire.expect(read_timeout)
                body = _framing(method, status, headers)
                keep = version == b"1" and "close" not in ",".join(headers.getall("Connection", ())).lower()
                return Response(url, status, headers, wire, (body, data, keep), done, read_timeout)
            if status == _SWITCHED:
                raise _wrong("it switches to another protocol")
            continue
        if len(data) > _MAX_HEAD:
            raise _wrong(f"its head has more than {_MAX_HEAD} bytes")
        if not _BEGIN.startswith(data[: len(_BEGIN)]):
            _parse(bytes(data))  # another protocol, whose peer may wait for us after its first line, as SSH does
        more = await wire.receive()
        if not more:
            raise aiohttp.ServerDisconnectedError
        looked = max(len(data) - 2, 0)
        if data:
            data = bytearray(data) if isinstance(data, bytes) else data
            data += more
        else:
            data = more


def _parse(head: bytes) -> tuple[bytes, int, CIMultiDict[str]]:
    """The minor version, the status, and the headers that are read."""
    found = _HEAD.fullmatch(head)
    if found is None:
        fits = _HEAD.match(head)  # up to the line that does not fit
        line, *rest = head[fits.end() if fits is not None else 0 :].lstrip(b"\r").split(b"\n")
        if fits is None or line or not rest:
            first = _text(head[:40].partition(b"\n")[0])
            raise _wrong(f"it begins with {first!r}")
        raise _wrong(f"it has the header {_text(rest[0][:40])!r}")
    version, status, lines = found.groups()
    return version, int(status), CIMultiDict([(_text(name), _text(value)) for name, value in _READ.findall(lines)])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape").strip(" \t")


def _framing(method: str, status: int, headers: CIMultiDict[str]) -> _Framing:
    if method == "HEAD" or status in _WITHOUT_BODY:
        return _OfLength(0)
    coding = headers.get("Transfer-Encoding")
    length = headers.get("Content-Length")
    if coding is not None:
        if length is not None:  # what request smuggling is made of (RFC 9112, 6.3)
            raise _wrong("it has a length and chunks")
        coding = ", ".join(headers.getall("Transfer-Encoding"))
        if coding.lower() != "chunked":
            raise _wrong(f"it is in the coding {coding[:20]!r}")
        return Dechunker()
    if length is None:
        return _ToTheEnd()
    if _LENGTH.fullmatch(length) is None or set(headers.getall("Content-Length")) != {length}:
        raise _wrong(f"its length is {length[:20]!r}")
    return _OfLength(int(length))


class _OfLength:
    """A body of a known length."""

    __slots__ = ("_left", "finished", "is_exact")

    def __init__(self, length: int):
        self._left = length
        self.finished = not length
        self.is_exact = True

    def feed(self, raw: bytes) -> Pieces:
        left = self._left
        self._left = max(left - len(raw), 0)
        self.finished = not self._left
        self.is_exact = len(raw) <= left
        return Pieces(raw, [(0, min(len(raw), left))])


class _ToTheEnd:
    """A body that ends with its connection."""

    __slots__ = ()

    finished = False
    is_exact = False

    def feed(self, raw: bytes) -> Pieces:
        return Pieces(raw, [(0, len(raw))])


def _wrong(why: str) -> aiohttp.ClientPayloadError:
    return aiohttp.ClientPayloadError(f"what came is no answer of HTTP: {why}")


def _cut() -> aiohttp.ClientPayloadError:
    return aiohttp.ClientPayloadError("the connection was closed in the middle of it")
