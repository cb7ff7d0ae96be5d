"""The replay server: it sends an informer of pods what an API server would send, as fast as the informer reads.

It runs in its own process (``python -m kinformer.bench.replay PODS [unlike] [size=SIZE] [tls=FILE]``). It knows just
enough HTTP for a list (with or without pages), a streaming list and a watch. A watch of pods sends events after a
request to ``/load`` with the number of events and the rate. It leaves out the namespaces that its field selector
excepts, and then sends a bookmark after the last event. ``/sent`` says how many bytes of lists and watches were sent.

Each event is joined from three pieces of prepared bytes. :meth:`kinformer.bench.servers.Replay.raw_read` measures how
fast the server is, with a reader that ignores what it reads. Other clients first ask for the version, the API groups or
the namespaces. The server answers these requests, too: it has the core group only, and no namespace but ``kube-system``
where that is asked for.

With a file that has a certificate and its key, the server also listens for TLS, on another port. If its standard input
is a pipe, it ends when the pipe is closed, so that it does not run longer than the process that started it.

Events at a rate have the time of sending in an annotation, as nanoseconds of ``CLOCK_MONOTONIC``. On one machine this
clock is the same for all processes.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import parse_qs, urlsplit

from kinformer.bench.pods import NAMESPACES, USUAL, PodBytes, namespace, pod_bytes

__all__ = ("SENT_AT", "ReplayServer")

#: The annotation with the time of sending.
SENT_AT = "kinformer.dev/sent-at"

_BATCH = 64
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_STATUS = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"NotFound","code":404,'
    b'"message":"the server could not find the requested resource"}'
)
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(_STATUS),
    _STATUS,
)

_PODS = "/api/v1/pods"
_NAMESPACES = "/api/v1/namespaces"
_VERBS = b'"verbs":["get","list","watch"]'
#: The responses that never change, by path.
_FIXED = {
    "/version": b'{"major":"1","minor":"36","gitVersion":"v1.36.2+replay"}',
    "/api": b'{"kind":"APIVersions","versions":["v1"]}',
    "/apis": b'{"kind":"APIGroupList","apiVersion":"v1","groups":[]}',
    "/api/v1": b'{"kind":"APIResourceList","groupVersion":"v1","resources":['
    b'{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod",%b},'
    b'{"name":"namespaces","singularName":"namespace","namespaced":false,"kind":"Namespace",%b}]}' % (_VERBS, _VERBS),
    _NAMESPACES: b'{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}',
}
#: The response to a request for the namespace by whose uid a cluster is told from others, without its version.
_SYSTEM_NAMESPACE = (
    b'{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[{"metadata":{'
    b'"name":"kube-system","uid":"6f0e1c1e-0000-4000-7000-000000000000"}}]}'
)


@dataclass(slots=True)
class Load:
    """
    The events that a watch has to send.

    :param events: the number of MODIFIED events
    :param rate: events a second; 0 for as fast as they are read
    :param last: whether the server ends the watch after them
    :param status: whether each event changes the pod's status, as in a cluster; if not, only its resourceVersion
    """

    events: int
    rate: float
    last: bool
    status: bool


@dataclass(slots=True)
class ReplayServer:
    """
    The server.

    :param objects: the number of pods
    :param alike: whether many pods have the same labels and owner; see :func:`kinformer.bench.pods.pod`
    :param size: the size of each pod; see :data:`kinformer.bench.pods.SIZES`
    """

    objects: int
    alike: bool = True
    size: str = USUAL
    pods: list[PodBytes] = field(init=False)
    _loads: asyncio.Queue[Load] = field(init=False, default_factory=asyncio.Queue)
    _version: int = field(init=False)
    _sent: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.pods = [pod_bytes(number, alike=self.alike, size=self.size) for number in range(self.objects)]
        self._version = 1_000_000_000 + self.objects

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it is closed."""
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                _, target, _ = request.split(b"\r\n", 1)[0].decode().split(" ")
                url = urlsplit(target)
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                path = url.path.rstrip("/")
                if path == "/load":
                    events, rate = int(query["events"]), float(query.get("rate", 0))
                    load = Load(events, rate, query.get("last") == "true", query.get("status") != "false")
                    await self._loads.put(load)
                    self._answer(writer, b"{}")
                elif path == "/sent":
                    self._answer(writer, b"%d" % self._sent)
                elif query.get("watch") in ("true", "1", "True"):
                    writer.write(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
                    if path == _PODS:
                        await self._watch(writer, query)
                    else:
                        await reader.read()  # a watch without events, until the client closes it
                    return
                elif path == _PODS:
                    await self._list(writer, query)
                elif path == _NAMESPACES and "fieldSelector" in query:
                    self._answer(writer, _SYSTEM_NAMESPACE % (self._version + 1))
                elif path in _FIXED:
                    self._answer(writer, _FIXED[path])
                else:
                    writer.write(_NOT_FOUND)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, writer: asyncio.StreamWriter, body: bytes) -> None:
        writer.write(_HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _list(self, writer: asyncio.StreamWriter, query: dict[str, str]) -> None:
        start, limit = int(query.get("continue") or 0), int(query.get("limit") or 0)
        # As a kube-apiserver with a watch cache: for version 0 it ignores the limit and returns the whole list.
        end = self.objects if not limit or query.get("resourceVersion") == "0" else min(start + limit, self.objects)
        more = b',"continue":"%d"' % end if end < self.objects else b""
        head = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"%b},"items":[' % (
            self._version,
            more,
        )
        writer.write(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        self._chunk(writer, head)
        for first in range(start, end, _BATCH):
            last = min(first + _BATCH, end)
            piece = b",".join(self.pods[n].at(1_000_000_000 + n) for n in range(first, last))
            self._chunk(writer, piece if last == end else piece + b",")
            await writer.drain()
        self._chunk(writer, b"]}")
        writer.write(b"0\r\n\r\n")

    async def _watch(self, writer: asyncio.StreamWriter, query: dict[str, str]) -> None:
        if query.get("sendInitialEvents") in ("true", "True"):
            await self._initial_events(writer)
        excepted = _excepted(query.get("fieldSelector", ""))
        while True:
            load = await self._loads.get()
            if load.rate:
                await self._at_rate(writer, load, excepted)
            else:
                await self._flat_out(writer, load, excepted)
            if excepted:
                self._chunk(writer, self._bookmark(b"{}"))
            if load.last:
                return

    async def _initial_events(self, writer: asyncio.StreamWriter) -> None:
        for first in range(0, self.objects, _BATCH):
            numbers = range(first, min(first + _BATCH, self.objects))
            lines = b"".join(b'{"type":"ADDED","object":%b}\n' % self.pods[n].at(1_000_000_000 + n) for n in numbers)
            self._chunk(writer, lines)
            await writer.drain()
        self._chunk(writer, self._bookmark(b'{"k8s.io/initial-events-end":"true"}'))
        await writer.drain()

    def _bookmark(self, annotations: bytes) -> bytes:
        return (
            b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d",'
            b'"annotations":%b},"spec":{"containers":null},"status":{}}}\n' % (self._version, annotations)
        )

    async def _flat_out(self, writer: asyncio.StreamWriter, load: Load, excepted: frozenset[int]) -> None:
        numbers = self._numbers()
        left = load.events
        while left:
            size = min(_BATCH, left)
            left -= size
            lines = self._events(numbers, size, excepted)
            if load.status:
                lines = _restarted(lines, load.events - left)
            self._chunk(writer, b"".join(lines))
            await writer.drain()

    async def _at_rate(self, writer: asyncio.StreamWriter, load: Load, excepted: frozenset[int]) -> None:
        numbers = self._numbers()
        began = time.monotonic()
        sent = 0
        while sent < load.events:
            # After a pause, some at a time: the later one of two events of a pod in a batch would change nothing.
            due = min(int((time.monotonic() - began) * load.rate), load.events, sent + _BATCH)
            if due > sent:
                stamp = b'"annotations":{"%b":"%d",' % (SENT_AT.encode(), time.monotonic_ns())
                lines = self._events(numbers, due - sent, excepted)
                lines = [line.replace(b'"annotations":{', stamp, 1) for line in lines]
                self._chunk(writer, b"".join(_restarted(lines, due) if load.status else lines))
                await writer.drain()
                sent = due
            await asyncio.sleep(0.001)

    def _events(self, numbers: Iterator[int], count: int, excepted: frozenset[int]) -> list[bytes]:
        """The next events, without those of excepted namespaces."""
        lines = []
        for number in islice(numbers, count):
            self._version += 1
            if number % NAMESPACES not in excepted:
                lines.append(b'{"type":"MODIFIED","object":%b}\n' % self.pods[number].at(self._version))
        return lines

    def _numbers(self) -> Iterator[int]:
        """The numbers of the pods, in an order in which a cache of recently used objects does not help."""
        number = 0
        step = 7919 % self.objects or 1
        while True:
            yield number
            number = (number + step) % self.objects

    def _chunk(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        if data:  # a chunk without data is the last one
            self._sent += len(data)
            writer.writelines((b"%x\r\n" % len(data), data, b"\r\n"))


def _excepted(selector: str) -> frozenset[int]:
    """The numbers of the namespaces that a field selector excepts."""
    conditions = (condition.partition("!=") for condition in selector.split(","))
    names = {name for label, _, name in conditions if label == "metadata.namespace"}
    return frozenset(number for number in range(NAMESPACES) if namespace(number) in names)


def _restarted(lines: list[bytes], count: int) -> list[bytes]:
    """The events with a new restart count in the pods' status."""
    restarts = b'"restartCount":%d' % count
    return [line.replace(b'"restartCount":0', restarts, 1) for line in lines]


async def _main(objects: int, certificate: str, size: str, *, alike: bool) -> None:
    replay = ReplayServer(objects, alike, size)
    server = await asyncio.start_server(replay.serve, "127.0.0.1", 0, limit=1 << 20)
    ports = [server.sockets[0].getsockname()[1]]
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        over_tls = await asyncio.start_server(replay.serve, "127.0.0.1", 0, limit=1 << 20, ssl=context)
        ports.append(over_tls.sockets[0].getsockname()[1])
    sys.stdout.write(f"{' '.join(map(str, ports))}\n")  # the process that started this one reads the ports
    sys.stdout.flush()
    serving = asyncio.ensure_future(server.serve_forever())
    if stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), serving.cancel)
    async with server:
        with suppress(asyncio.CancelledError):
            await serving


if __name__ == "__main__":
    try:
        given = dict(argument.split("=", 1) for argument in sys.argv[2:] if "=" in argument)
        size = given.get("size", USUAL)
        asyncio.run(_main(int(sys.argv[1]), given.get("tls", ""), size, alike="unlike" not in sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(0)
