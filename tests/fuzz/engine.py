"""Send a server what a source of inputs makes, and look at how it takes it.

A server that is well answers every request, with a Status where it refuses, without an internal error, without a
traceback in the log, and goes on. Client and server share a process here: a connection that is kept open and plain
bytes are a fourth of what a real client costs.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
import msgspec
import structlog
from anyio.streams.buffered import BufferedByteReceiveStream

from kinformer.envtest import ApiServer
from tests.fuzz.inputs import Input
from tests.fuzz.objects import FIXED

__all__ = ("Finding", "Outcome", "attack")

_LONGEST_HEAD = 1 << 20
_ANSWER_WITHIN = 100.0


@dataclass(frozen=True, slots=True)
class Finding:
    """A request that the server did not take well, and what happened."""

    what: str
    input: Input

    def __str__(self) -> str:
        one = self.input
        body = "" if one.body is None else f" {one.body[:600]!r}"
        return f"{self.what}: {one.method} {one.path[:300]} {one.type} accept={one.accept[:60]}{body}"


@dataclass(slots=True)
class Outcome:
    """
    What a run came to.

    :param slowest: the CPU seconds that one request took at most, and which
    """

    inputs: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    slowest: tuple[float, Input | None] = (0.0, None)


async def attack(inputs: Iterable[Input], *, told: Callable[[int], None] | None = None) -> Outcome:
    """
    Send inputs to a server of its own, one after the other.

    :param told: called now and then with how many were sent
    """
    outcome = Outcome()
    complaints = _Complaints()
    with complaints:
        async with ApiServer(plugins=False, seed=1) as server:
            connection = _Connection(server)
            try:
                for path, obj in FIXED:
                    await connection.send(Input("POST", path, body=msgspec.json.encode(obj)))
                for one in inputs:
                    await _try(connection, one, outcome, complaints)
                    if outcome.inputs % 500 == 0:
                        await _mend(connection)
                        if told is not None:
                            told(outcome.inputs)
                if (await connection.send(Input("GET", "/readyz")))[0] != 200:
                    outcome.findings.append(Finding("the server is not ready any more", Input("GET", "/readyz")))
            finally:
                await connection.close()
    return outcome


async def _try(connection: _Connection, one: Input, outcome: Outcome, complaints: _Complaints) -> None:
    outcome.inputs += 1
    before = time.process_time()
    try:
        with anyio.fail_after(_ANSWER_WITHIN):
            code, body = await connection.send(one)
    except (anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
        outcome.findings.append(Finding(f"the connection was dropped ({type(error).__name__})", one))
        await connection.close()
        return
    except TimeoutError:
        outcome.findings.append(Finding("no answer", one))
        await connection.close()
        return
    seconds = time.process_time() - before
    if seconds > outcome.slowest[0]:
        outcome.slowest = (seconds, one)
    outcome.codes[code] += 1
    if code >= 500 and (wrong := _wrong(body)):
        outcome.findings.append(Finding(f"{code} {wrong}", one))
    if said := complaints.take():
        outcome.findings.append(Finding(f"logged {said}", one))


def _wrong(body: bytes) -> str:
    """What is wrong with an answer that is an error of the server: it may be one that the real server has, too."""
    if not body:
        return ""
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "no Status" if b"kind: Status" not in body else ""
    if not isinstance(answer, dict) or answer.get("kind") != "Status":
        return "no Status"
    return "internal error" if answer.get("message") == "Internal error occurred" else ""


async def _mend(connection: _Connection) -> None:
    """Put back what inputs have removed, so that others find it."""
    await connection.send(Input("POST", "/api/v1/namespaces", body=b'{"metadata":{"name":"default"}}'))
    for path, obj in FIXED[:10]:
        await connection.send(Input("POST", path, body=msgspec.json.encode(obj)))


class _Connection:
    """A connection to a server that is opened when it is needed, and again when it was closed."""

    def __init__(self, server: ApiServer):
        self._server = server
        self._stream: anyio.abc.ByteStream | None = None
        self._reader: BufferedByteReceiveStream | None = None

    async def close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.aclose()

    async def send(self, one: Input) -> tuple[int, bytes]:
        if self._stream is None:
            self._stream = await anyio.connect_tcp("127.0.0.1", self._server.port)
            self._reader = BufferedByteReceiveStream(self._stream)
        assert self._reader is not None
        head = (
            f"{one.method} {one.path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self._server.token}\r\n"
            f"Accept: {one.accept}\r\n"
        )
        if one.body is not None:
            head += f"Content-Type: {one.type}\r\nContent-Length: {len(one.body)}\r\n"
        await self._stream.send(head.encode() + b"\r\n" + (one.body or b""))
        answer = await self._reader.receive_until(b"\r\n\r\n", _LONGEST_HEAD)
        first, *lines = answer.split(b"\r\n")
        code = int(first.split(b" ", 2)[1])
        headers = dict(line.lower().split(b": ", 1) for line in lines if b": " in line)
        body = b""
        if b"chunked" in headers.get(b"transfer-encoding", b""):
            await self.close()  # a watch: that it begins is all that is wanted
            return code, b""
        if one.method != "HEAD" and (length := int(headers.get(b"content-length", b"0"))):
            body = await self._reader.receive_exactly(length)
        if code == 400 and headers.get(b"content-type", b"").startswith(b"text/plain"):
            await self.close()  # what is not HTTP is answered by aiohttp, which says nothing more
        if headers.get(b"connection") == b"close":
            await self.close()
        return code, body


class _Complaints(logging.Handler):
    """What the server logs as an error while it is attacked: nothing should be."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._texts: list[str] = []
        self._before: dict[str, Any] = {}

    def __enter__(self) -> None:
        logging.getLogger("aiohttp").addHandler(self)
        self._before = structlog.get_config()
        structlog.configure(processors=[self._process], logger_factory=structlog.ReturnLoggerFactory())

    def __exit__(self, *_: object) -> None:
        structlog.configure(**self._before)
        logging.getLogger("aiohttp").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if "Error handling request" not in record.getMessage():  # what is not HTTP
            self._texts.append(record.getMessage())

    def _process(self, _: Any, method: str, event: dict[str, Any]) -> str:
        if method in ("error", "exception", "critical"):
            self._texts.append(f"{event.get('event')} {event.get('error', '')}"[:300])
        return ""

    def take(self) -> str:
        texts, self._texts = self._texts, []
        return "; ".join(texts)
