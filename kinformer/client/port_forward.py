"""Port-forward: a connection to a port of a pod, over a WebSocket.

The protocol is ``v4.channel.k8s.io``. Channel 0 carries the bytes of the connection, and channel 1 an error message.
The first message on each is the port's number. One WebSocket carries one connection, because the protocol cannot open
another. The protocol cannot close one direction alone either: the end of the connection is the end of both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import ByteStream

from kinformer.client.errors import ClientError, ConnectionLost
from kinformer.logs import get_logger

if TYPE_CHECKING:
    from anyio.abc import SocketStream

    from kinformer.client.websocket import WebSocket

__all__ = ("PROTOCOL", "PortForward", "forward_listener")

log = get_logger(__name__)

PROTOCOL: Final = "v4.channel.k8s.io"

_DATA: Final = 0
_ERROR: Final = 1
#: Number of bytes of a port's number.
_HEAD: Final = 2
_MESSAGE: Final = 2**15
#: Seconds that the pod's side has to finish, after the local side has stopped sending.
_LINGER: Final = 30.0


class PortForward(ByteStream):
    """
    A connection to a port of a pod, as anyio's byte stream. If it is cut, :exc:`ConnectionLost` is raised.

    :param port: the port, for messages
    """

    def __init__(self, socket: WebSocket, port: int):
        self._socket = socket
        self._port = port
        self._heads = {_DATA: _HEAD, _ERROR: _HEAD}
        self._error = b""
        self._rest = b""
        self._ended = False

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """
        Receive some bytes; wait until there are some.

        :raises anyio.EndOfStream: when the pod's side has closed the connection
        :raises ConnectionLost: if it was cut, or no process listens on that port
        """
        while not self._rest:
            if self._ended:
                raise anyio.EndOfStream
            message = await self._socket.receive()
            if message is None:
                self._ended = True
                if self._error:
                    raise ConnectionLost(self._socket.url, self._error.decode(errors="replace").strip())
                continue
            channel, data = message
            if head := self._heads.get(channel, 0):
                self._heads[channel] = max(head - len(data), 0)
                data = data[head:]
            if channel == _DATA:
                self._rest = data
            elif channel == _ERROR:
                self._error += data
        received, self._rest = self._rest[:max_bytes], self._rest[max_bytes:]
        return received

    async def send(self, item: bytes) -> None:
        """
        Send bytes; wait while the pod's side does not read.

        :raises ConnectionLost: if the connection is closed
        """
        for start in range(0, len(item), _MESSAGE):
            await self._socket.send(_DATA, item[start : start + _MESSAGE])

    async def send_eof(self) -> None:
        """
        Not supported: the protocol cannot close one direction alone.

        :raises ClientError: always
        """
        raise ClientError("a forwarded connection cannot be closed in one direction only: close it as a whole")

    async def aclose(self) -> None:
        await self._socket.close()


@asynccontextmanager
async def forward_listener(
    connect: Callable[[], AbstractAsyncContextManager[PortForward]], host: str, port: int
) -> AsyncIterator[int]:
    """
    Listen on a port of this machine, and forward each incoming connection by one of `connect`.

    :param port: the local port; 0 for a free one. The context gives the port that is used.
    """

    async def serve(local: SocketStream) -> None:
        async with local:
            try:
                async with connect() as remote:
                    await _join(local, remote)
            except ClientError as error:
                log.warning("port_forward_failed", error=str(error))

    listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.cancel_scope.cancel()


async def _join(local: ByteStream, remote: PortForward) -> None:
    """
    Copy bytes in both directions until the pod's side has ended, or one of the two breaks.

    When the local side stops sending, the pod's side has some more seconds to send. The local side may have hung up, or
    may be waiting for the answer. The two cannot be told apart.

    :raises ConnectionLost: if the forwarded connection was cut
    """
    failure: ClientError | None = None

    async def carry(source: ByteStream, target: ByteStream) -> None:
        nonlocal failure
        try:
            async for data in source:
                await target.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the local side has hung up
        except ClientError as error:
            failure = failure or error

    async with anyio.create_task_group() as tasks:

        async def carry_out() -> None:
            await carry(local, remote)
            await anyio.sleep(0 if failure is not None else _LINGER)
            tasks.cancel_scope.cancel()

        tasks.start_soon(carry_out)
        await carry(remote, local)
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
