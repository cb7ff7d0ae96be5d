"""Answers: what is taken from a server, and how much of it.

A server may be broken, hostile, or no API server at all. So whatever it sends is bounded here: the size of a body, the
size that a compressed one unpacks to (in steps, so that the loop gets its turn), how often it may redirect, how long it
may ask us to wait. What is beyond that is an error of the one request that it answered.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Final, Protocol

import aiohttp
import anyio.lowlevel
from yarl import URL

from kinformer.client.errors import MAX_RETRY_AFTER, AnswerTooLarge, ClientError, DecodeError
from kinformer.client.proxies import without_password
from kinformer.logs.escaping import escaped

__all__ = (
    "DEFAULT_MAX_ANSWER",
    "BodyReader",
    "check_encoding",
    "read_body",
    "redirected",
    "retry_after",
    "warning_text",
)

#: Bytes of one answer that are held at once. A list that is read as it comes may be of any length.
DEFAULT_MAX_ANSWER: Final = 2**28

#: Bytes of a refusal: a Status with its causes is some KB.
_MAX_REFUSAL: Final = 2**20

#: Bytes that are unpacked at once.
_STEP: Final = 2**18


class BodyReader(Protocol):
    """Takes the body of a good answer, piece by piece."""

    @property
    def held(self) -> int:
        """Bytes that it keeps since it could not make anything of them yet."""

    def feed(self, data: bytes) -> None: ...

    def restart(self) -> None:
        """What came is not all there is, and is sent again."""


async def read_body(
    response: aiohttp.ClientResponse, reader: BodyReader | None, limit: int, *, compressed: bool
) -> bytes:
    """
    All of the body, or nothing where the reader was given it.

    :param limit: bytes that are held at once at most
    :param compressed: whether the server was asked to compress it
    :raises AnswerTooLarge: if there is more
    :raises DecodeError: if it is compressed in a way that was not asked for, or not as it should be
    """
    url = str(response.url)
    try:
        check_encoding(response, compressed=compressed)
        refused = not 200 <= response.status < 300
        if reader is None or refused:
            return await _whole(response, url, _MAX_REFUSAL if refused else limit, cut=refused)
        reader.restart()
        async for piece in _unpacked(response, url):
            reader.feed(piece)
            if reader.held > limit:
                raise AnswerTooLarge(url, limit)
    except BaseException:
        response.close()
        raise
    response.release()
    return b""


def check_encoding(response: aiohttp.ClientResponse, *, compressed: bool) -> None:
    """
    :raises DecodeError: if a body is compressed in a way that was not asked for
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding and encoding != "identity" and not (compressed and encoding == "gzip"):
        response.close()
        raise DecodeError(f"the answer from {response.url} is compressed ({encoding[:20]!r}), which was not asked for")


async def _whole(response: aiohttp.ClientResponse, url: str, limit: int, *, cut: bool) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in _unpacked(response, url):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            response.close()
            if not cut:
                raise AnswerTooLarge(url, limit)
            break
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]


def _unpacked(response: aiohttp.ClientResponse, url: str) -> AsyncIterator[bytes]:
    packed = response.headers.get("Content-Encoding", "").strip().lower() == "gzip"
    return _gunzipped(response, url) if packed else response.content.iter_any()


async def _gunzipped(response: aiohttp.ClientResponse, url: str) -> AsyncIterator[bytes]:
    unpack = zlib.decompressobj(wbits=31)
    try:
        async for packed in response.content.iter_any():
            piece = unpack.decompress(packed, _STEP)
            while piece:
                yield piece
                await anyio.lowlevel.checkpoint()
                piece = unpack.decompress(unpack.unconsumed_tail, _STEP)
        if not unpack.eof:
            raise aiohttp.ClientPayloadError("the compressed answer was cut off")
    except zlib.error as error:
        raise DecodeError(f"the answer from {url} is not in gzip as it says: {error}") from None


def redirected(url: URL, response: aiohttp.ClientResponse) -> URL:
    """
    Where an answer sends us.

    :raises ClientError: if that is nowhere we would go: no URL, or one that gives up TLS
    """
    location = response.headers.get("Location", "")
    try:
        target = url.join(URL(location, encoded=True)).with_fragment(None)
        valid = target.scheme in ("http", "https") and bool(target.host)
    except (ValueError, UnicodeError):
        target, valid = url, False
    if not valid:
        raise ClientError(f"{url} redirects to {escaped(without_password(location)[:200])!r}, which is no place to go")
    if url.scheme == "https" and target.scheme == "http":
        raise ClientError(f"{url} redirects to {target.origin()}, which is without TLS: not followed")
    return target.with_user(None) if target.raw_user or target.raw_password else target


def retry_after(header: str | None) -> int | None:
    """The seconds of a Retry-After header, at most as many as are obeyed; None where it says no number."""
    if header is None:
        return None
    digits = header.strip()
    if not (digits.isascii() and digits.isdigit()):
        return None
    # Python refuses to read numbers of thousands of digits, and floats end at 309.
    return min(int(digits), MAX_RETRY_AFTER) if len(digits) < 10 else MAX_RETRY_AFTER


def warning_text(header: str) -> str:
    """The text in ``299 - "text"``."""
    _, quote, rest = header.partition('"')
    return escaped(rest.rpartition('"')[0].replace('\\"', '"') if quote else header)
