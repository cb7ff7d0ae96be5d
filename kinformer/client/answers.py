"""Answers: reads responses of a server, within limits.

A server may be broken, hostile, or no API server at all. So everything that it sends is bounded here: the size of a
body, the size of a compressed body after decompression (which is done in steps, so that the event loop gets its turn),
the number of redirects, and the time for which it may ask us to wait. A response beyond a limit is an error of its
request only.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any, Final, Protocol

import aiohttp
import anyio.lowlevel
from yarl import URL

from kinformer.client.errors import MAX_RETRY_AFTER, AnswerTooLarge, ClientError, DecodeError
from kinformer.client.pieces import Piece
from kinformer.client.proxies import without_password
from kinformer.client.queries import can_be_sent
from kinformer.client.response import Response
from kinformer.logs.escaping import escaped

__all__ = (
    "Answer",
    "BodyReader",
    "check_encoding",
    "read_body",
    "redirected",
    "retry_after",
    "warning_texts",
)

#: Bytes of an error response that are read. A Status with its causes has a few KB.
_MAX_REFUSAL: Final = 2**20

#: Bytes that are decompressed at once.
_STEP: Final = 2**18

#: One warning of a header, and the comma after it: its code, an agent, its text, perhaps a date.
_WARNING: Final = re.compile(r'\s*([0-9]{3}) [^ ]+ "((?:[^"\\]|\\.)*)"\s*(?:"[^"]*"\s*)?(?:,\s*|$)')
_ESCAPED_CHARACTER: Final = re.compile(r"\\(.)")


class Answer(Protocol):
    """A response of ours, or one of aiohttp's."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def url(self) -> Any: ...

    def close(self) -> object: ...


class BodyReader(Protocol):
    """Takes the body of a successful response, piece by piece."""

    @property
    def held(self) -> int:
        """Number of bytes that it holds and could not decode yet."""

    def feed(self, data: Piece) -> None: ...

    def restart(self) -> None:
        """Forget what came: the response begins again."""


async def read_body(response: Response, reader: BodyReader | None, limit: int, *, compressed: bool) -> bytes:
    """
    Read the whole body. If there is a reader, the reader gets it, and the result is empty.

    :param limit: the greatest number of bytes that are held in memory at once
    :param compressed: whether the server was asked to compress it
    :raises AnswerTooLarge: if more would have to be held
    :raises DecodeError: if it is compressed although this was not asked for, or its compression is broken
    """
    try:
        read = _Unpacked(response).read if check_encoding(response, compressed=compressed) else response.read
        refused = not 200 <= response.status < 300
        if reader is not None and not refused:
            reader.restart()
            while pieces := await read():
                for piece in pieces:
                    reader.feed(piece)
                    if reader.held > limit:
                        raise AnswerTooLarge(response.url, limit)
            response.release()
            return b""
        limit = _MAX_REFUSAL if refused else limit
        found: list[Piece] = []
        size = 0
        while pieces := await read():
            found += pieces
            size += sum(map(len, pieces))
            if size > limit:
                if not refused:
                    raise AnswerTooLarge(response.url, limit)
                response.close()
                return b"".join(found)
    except BaseException:
        response.close()
        raise
    response.release()
    return b"".join(found)


def check_encoding(response: Answer, *, compressed: bool) -> bool:
    """
    Check that the body is not compressed in a way that was not requested. Return whether it is compressed.

    :raises DecodeError: if it is compressed in such a way
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if not encoding or encoding == "identity":
        return False
    if compressed and encoding == "gzip":
        return True
    response.close()
    raise DecodeError(f"the answer from {response.url} is compressed ({encoding[:20]!r}), which was not asked for")


class _Unpacked:
    """A body in gzip, which is decompressed in steps."""

    __slots__ = ("_packed", "_response", "_unpack")

    def __init__(self, response: Response):
        self._response = response
        self._packed = b""
        self._unpack = zlib.decompressobj(wbits=31)

    async def read(self) -> list[Piece]:
        """
        Return the next decompressed piece; an empty list at the end.

        :raises DecodeError: if it is not gzip
        :raises aiohttp.ClientPayloadError: if the body ends too early
        """
        unpack = self._unpack
        try:
            while True:
                if piece := unpack.decompress(self._packed, _STEP):
                    self._packed = unpack.unconsumed_tail
                    await anyio.lowlevel.checkpoint()
                    return [piece]
                if unpack.unused_data:  # zlib would keep all that comes, without a limit
                    url = self._response.url
                    raise DecodeError(f"the answer from {url} goes on after the end of its gzip data")
                self._packed = b"".join(await self._response.read() or ())
                if not self._packed:
                    if not unpack.eof:
                        raise aiohttp.ClientPayloadError("the compressed answer was cut off")
                    return []
        except zlib.error as error:
            url = self._response.url
            raise DecodeError(f"the answer from {url} is not in gzip, although its header says so: {error}") from None


def redirected(url: URL, response: Response) -> URL:
    """
    The URL that a response redirects to.

    :raises ClientError: if the URL must not be followed. It has to be a URL of http or https with special characters
        escaped, and must not lead from https to http
    """
    location = response.headers.get("Location", "")
    try:
        target = url.join(URL(location, encoded=True)).with_fragment(None)
        valid = target.scheme in ("http", "https") and bool(target.host) and can_be_sent(target.raw_path_qs)
    except (ValueError, UnicodeError):
        target, valid = url, False
    if not valid:
        shown = escaped(without_password(location)[:200])
        raise ClientError(
            f"{url} redirects to {shown!r}: not followed, want a URL of http or https, with special characters escaped"
        )
    if url.scheme == "https" and target.scheme == "http":
        raise ClientError(f"{url} redirects to {target.origin()}, which is without TLS: not followed")
    return target.with_user(None) if target.raw_user or target.raw_password else target


def retry_after(header: str | None) -> int | None:
    """
    Return the seconds of a Retry-After header, at most :data:`MAX_RETRY_AFTER`.

    :return: None if it is not a number, or is too large for 64 bits. client-go ignores such a header, too
    """
    digits = (header or "").strip()
    # Python refuses to parse numbers of thousands of digits.
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19 or int(digits) >= 2**63:
        return None
    return min(int(digits), MAX_RETRY_AFTER)


def warning_texts(header: str) -> list[str]:
    """
    The texts of a Warning header: the parts in quotes of ``299 - "text", 299 - "another text"``.

    As in client-go, only code 299 is of the server itself. A part that has another form is returned as it is.
    """
    texts: list[str] = []
    at = 0
    while at < len(header):
        warning = _WARNING.match(header, at)
        if warning is None:
            return [*texts, escaped(header[at:])]
        code, text = warning.groups()
        if code == "299" and text:
            texts.append(escaped(_ESCAPED_CHARACTER.sub(r"\1", text)))
        at = warning.end()
    return texts
