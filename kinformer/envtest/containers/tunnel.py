"""Port-forward in kubectl's protocol: SPDY streams inside a WebSocket (``SPDY/3.1+portforward.k8s.io``).

For each connection the client opens two streams with the same request number: one for errors and one for bytes. Both
name the port. The function that a test has registered for the port uses the stream for bytes. Each direction of such a
connection can be closed alone, unlike in the older protocol (``v4.channel.k8s.io``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress

import anyio
from aiohttp import web
from anyio.abc import ByteStream, TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from kinformer.envtest.containers.registry import PortFunction, Where
from kinformer.envtest.containers.spdy import Data, Opened, Pinged, Reset, SpdyError, SpdyReader, SpdyWriter
from kinformer.logs import get_logger
from kinformer.meta.integers import read_integer

__all__ = ("PROTOCOL", "forward_by_tunnel")

log = get_logger(__name__)

PROTOCOL = "SPDY/3.1+portforward.k8s.io"

_MESSAGE = 2**15
#: Seconds that a client has to close the connection.
_CLOSE_WITHIN = 2.0

Find = Callable[[Where, int], PortFunction | None]


async def forward_by_tunnel(request: web.BaseRequest, where: Where, find: Find) -> web.StreamResponse:
    """Connect a client to the ports of a pod that it requests, until it disconnects."""
    socket = web.WebSocketResponse(protocols=(PROTOCOL,), timeout=_CLOSE_WITHIN)
    await socket.prepare(request)
    try:
        async with anyio.create_task_group() as tasks:
            tunnel = _Tunnel(socket, where, find, tasks)
            reader = SpdyReader()
            async for message in socket:
                if isinstance(message.data, bytes):
                    for frame in reader.feed(message.data):
                        await tunnel.take(frame)
            tasks.cancel_scope.cancel()  # the client has disconnected
    except* ConnectionResetError:
        pass  # the client has gone away
    except* SpdyError as errors:
        log.warning("port_forward_broken", pod=where.pod, error=str(errors.exceptions[0]))
    await socket.close()
    return socket


class _Tunnel:
    """The streams of one client."""

    def __init__(self, socket: web.WebSocketResponse, where: Where, find: Find, tasks: TaskGroup) -> None:
        self._socket = socket
        self._where = where
        self._find = find
        self._tasks = tasks
        self._writer = SpdyWriter()
        #: The error streams whose streams for bytes are not open yet, by request number.
        self._errors: dict[str, int] = {}
        self._senders: dict[int, MemoryObjectSendStream[bytes]] = {}
        self._scopes: dict[int, anyio.CancelScope] = {}

    async def take(self, frame: Opened | Data | Reset | Pinged) -> None:
        """Process a frame of the client."""
        match frame:
            case Opened():
                await self._socket.send_bytes(self._writer.accept(frame.stream))
                await self._opened(frame.stream, frame.headers)
            case Data() if (sender := self._senders.get(frame.stream)) is not None:
                # The function of the port may have stopped reading.
                with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                    if frame.data:
                        await sender.send(frame.data)
                if frame.ends:
                    sender.close()
            case Reset() if (scope := self._scopes.get(frame.stream)) is not None:
                scope.cancel()
            case Pinged():
                await self._socket.send_bytes(self._writer.ping(frame.number))

    async def _opened(self, stream: int, headers: Mapping[str, str]) -> None:
        number, port = headers.get("requestid", ""), read_integer(headers.get("port", ""))
        if port is None or not 0 < port < 65536 or headers.get("streamtype") not in ("error", "data"):
            await self._socket.send_bytes(self._writer.reset(stream))
        elif headers["streamtype"] == "error":
            self._errors[number] = stream
        elif (errors := self._errors.pop(number, None)) is None:
            await self._socket.send_bytes(self._writer.reset(stream))
        else:
            # SPDY's flow control is not used. Bytes are kept until they are read, so a slow stream does not block
            # others.
            self._senders[stream], received = anyio.create_memory_object_stream[bytes](math.inf)
            self._scopes[stream] = anyio.CancelScope()
            self._tasks.start_soon(self._serve, stream, errors, port, received)

    async def _serve(self, stream: int, errors: int, port: int, received: MemoryObjectReceiveStream[bytes]) -> None:
        connection = _Connection(self._socket, self._writer, stream, received)
        why = ""
        try:
            with received, self._scopes[stream]:
                why = await self._outcome(port, connection)
        finally:
            self._senders.pop(stream).close()
            del self._scopes[stream]
        text = (
            f"error forwarding port {port} to pod {self._where.pod}: dial tcp4 127.0.0.1:{port}: {why}" if why else ""
        )
        await self._socket.send_bytes(self._writer.data(errors, text.encode(), ends=True))
        await connection.send_eof()

    async def _outcome(self, port: int, connection: ByteStream) -> str:
        """Run the function of a port. Returns the error text, or an empty text."""
        function = self._find(self._where, port)
        if function is None:
            return "connect: connection refused"
        try:
            await function(connection)
        except ConnectionResetError:
            raise
        except Exception as error:
            log.exception("fake_port_failed", pod=self._where.pod, port=port)
            return repr(error)
        return ""


class _Connection(ByteStream):
    """One forwarded connection, for the function of the port."""

    def __init__(
        self,
        socket: web.WebSocketResponse,
        writer: SpdyWriter,
        stream: int,
        received: MemoryObjectReceiveStream[bytes],
    ) -> None:
        self._socket = socket
        self._writer = writer
        self._stream = stream
        self._received = received
        self._rest = b""
        self._has_ended = False

    async def receive(self, max_bytes: int = 65536) -> bytes:
        if not self._rest:
            self._rest = await self._received.receive()
        data, self._rest = self._rest[:max_bytes], self._rest[max_bytes:]
        return data

    async def send(self, item: bytes) -> None:
        if self._has_ended:
            raise anyio.ClosedResourceError
        for start in range(0, len(item), _MESSAGE):
            await self._socket.send_bytes(self._writer.data(self._stream, item[start : start + _MESSAGE]))

    async def send_eof(self) -> None:
        """End the bytes from the pod."""
        if not self._has_ended:
            self._has_ended = True
            await self._socket.send_bytes(self._writer.data(self._stream, b"", ends=True))

    async def aclose(self) -> None:
        await self.send_eof()
        self._received.close()
