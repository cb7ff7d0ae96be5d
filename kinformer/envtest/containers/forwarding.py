"""Port-forward, in both protocols that run over a WebSocket.

In the older one (``v4.channel.k8s.io``) the client names the ports in its request. The first byte of each message is
its channel, and a port has two channels: one for its bytes, one for errors. In kubectl's (``SPDY/3.1+portforward``) the
messages carry SPDY. The client opens two streams for each connection, with the same request number: one for errors and
one for bytes. Both name the port. There, each direction of a connection can be closed alone.

The function that a test has registered for the port uses the connection.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import anyio
from aiohttp import web
from anyio.abc import ByteStream, TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from kinformer.envtest.containers.processes import bytes_of
from kinformer.envtest.containers.registry import PortFunction, Where
from kinformer.envtest.containers.spdy import Data, Opened, Pinged, Reset, SpdyError, SpdyReader, SpdyWriter
from kinformer.logs import get_logger
from kinformer.meta.integers import read_integer

__all__ = ("TUNNEL", "forward_by_channels", "forward_by_tunnel")

log = get_logger(__name__)

#: The protocol of kubectl.
TUNNEL = "SPDY/3.1+portforward.k8s.io"

_MESSAGE = 2**15
#: The most pieces of a channel that wait for their reader before the client has to wait.
_WAITING = 16
#: Seconds that a client has to close the connection.
_CLOSE_WITHIN = 2.0

Find = Callable[[Where, int], PortFunction | None]


class _Connection(ByteStream):
    """
    One forwarded connection, for the function of the port.

    :param write: sends bytes to the client
    :param end: tells the client that there will be no more bytes
    """

    def __init__(
        self,
        received: MemoryObjectReceiveStream[bytes],
        write: Callable[[bytes], Awaitable[None]],
        end: Callable[[], Awaitable[None]],
    ) -> None:
        self._received = received
        self._write = write
        self._end = end
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
            await self._write(item[start : start + _MESSAGE])

    async def send_eof(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            await self._end()

    async def aclose(self) -> None:
        await self.send_eof()
        self._received.close()


async def _pass_on(sender: MemoryObjectSendStream[bytes], data: bytes) -> None:
    # The function of the port may have stopped reading.
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await sender.send(data)


async def _serve(find: Find, where: Where, port: int, connection: ByteStream) -> bytes:
    """Run the function of a port. Returns the error text, or nothing."""
    function = find(where, port)
    why = "connect: connection refused"
    if function is not None:
        try:
            await function(connection)
        except ConnectionResetError:
            raise
        except Exception as error:
            log.exception("fake_port_failed", pod=where.pod, port=port)
            why = repr(error)
        else:
            return b""
    return f"error forwarding port {port} to pod {where.pod}: dial tcp4 127.0.0.1:{port}: {why}".encode()


# -- channels ---------------------------------------------------------------------------------------------------------


async def forward_by_channels(
    request: web.BaseRequest, where: Where, ports: list[int], find: Find
) -> web.StreamResponse:
    """Connect a client to ports of a pod, until all of them are done or the client disconnects."""
    socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",), timeout=_CLOSE_WITHIN)
    await socket.prepare(request)
    senders: dict[int, MemoryObjectSendStream[bytes]] = {}

    async def serve(channel: int, port: int, received: MemoryObjectReceiveStream[bytes]) -> None:
        async def write(data: bytes) -> None:
            await socket.send_bytes(bytes((channel,)) + data)

        async def end() -> None:
            """Do nothing: the connection ends when its function returns. The protocol has no other end."""

        for each in (channel, channel + 1):
            await socket.send_bytes(bytes((each,)) + port.to_bytes(2, "little"))
        with received:
            failure = await _serve(find, where, port, _Connection(received, write, end))
        if failure:
            await socket.send_bytes(bytes((channel + 1,)) + failure)

    try:
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                await _take_bytes(socket, senders)
                tasks.cancel_scope.cancel()  # the client has disconnected

            async with anyio.create_task_group() as serving:
                for n, port in enumerate(ports):
                    senders[2 * n], received = anyio.create_memory_object_stream[bytes](_WAITING)
                    serving.start_soon(serve, 2 * n, port, received)
                tasks.start_soon(listen)
            tasks.cancel_scope.cancel()
    except* ConnectionResetError:
        pass  # the client has gone away
    finally:
        for sender in senders.values():
            sender.close()
    await socket.close()
    return socket


async def _take_bytes(socket: web.WebSocketResponse, senders: Mapping[int, MemoryObjectSendStream[bytes]]) -> None:
    async for message in socket:
        data = bytes_of(message)
        if len(data) > 1 and (sender := senders.get(data[0])) is not None:
            await _pass_on(sender, data[1:])


# -- the tunnel -------------------------------------------------------------------------------------------------------


async def forward_by_tunnel(request: web.BaseRequest, where: Where, find: Find) -> web.StreamResponse:
    """Connect a client to the ports of a pod that it requests, until it disconnects."""
    socket = web.WebSocketResponse(protocols=(TUNNEL,), timeout=_CLOSE_WITHIN)
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
                if frame.data:
                    await _pass_on(sender, frame.data)
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
            # SPDY's flow control is not used. Bytes are kept until they are read, so a slow stream blocks no other one.
            self._senders[stream], received = anyio.create_memory_object_stream[bytes](math.inf)
            self._scopes[stream] = anyio.CancelScope()
            self._tasks.start_soon(self._forward, stream, errors, port, received)

    async def _forward(self, stream: int, errors: int, port: int, received: MemoryObjectReceiveStream[bytes]) -> None:
        async def write(data: bytes) -> None:
            await self._socket.send_bytes(self._writer.data(stream, data))

        async def end() -> None:
            await self._socket.send_bytes(self._writer.data(stream, b"", ends=True))

        connection = _Connection(received, write, end)
        failure = b""
        try:
            with received, self._scopes[stream]:
                failure = await _serve(self._find, self._where, port, connection)
        finally:
            self._senders.pop(stream).close()
            del self._scopes[stream]
        await self._socket.send_bytes(self._writer.data(errors, failure, ends=True))
        await connection.send_eof()
