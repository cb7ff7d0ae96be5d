"""WebSockets of containers: connect a client's channels with the functions that a test has registered.

The first byte of each message is its channel. A process has channels for its standard streams, for the Status at its
end, and for the terminal's size. A port has two channels: one for its bytes, one for errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import aiohttp
import anyio
from aiohttp import web
from anyio.abc import ByteStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from kinformer.envtest.containers.registry import FakeProcess, PortFunction, ProcessFunction, Where
from kinformer.logs import get_logger

__all__ = ("forward_ports", "serve_process")

log = get_logger(__name__)

_V4 = "v4.channel.k8s.io"
_V5 = "v5.channel.k8s.io"
_STDIN, _STDOUT, _STDERR, _STATUS, _RESIZE = range(5)
_CLOSE = 255
_MESSAGE = 2**15
#: The most pieces of input that wait for their reader before the client has to wait.
_WAITING = 16
#: Seconds that a client has to answer the close frame.
_CLOSE_WITHIN = 2.0


async def serve_process(
    request: web.BaseRequest, function: ProcessFunction, where: Where, words: tuple[str, ...], *, stdin: bool, tty: bool
) -> web.StreamResponse:
    """Run a function in place of a process, until it returns or its client disconnects."""
    socket = web.WebSocketResponse(protocols=(_V5, _V4), timeout=_CLOSE_WITHIN)
    await socket.prepare(request)
    send_input, input_ = anyio.create_memory_object_stream[bytes](_WAITING)
    if not stdin:
        send_input.close()

    async def read() -> bytes:
        try:
            return await input_.receive()
        except anyio.EndOfStream:
            return b""

    async def write(stream: str, data: bytes) -> None:
        channel = _STDOUT if stream == "stdout" else _STDERR
        for start in range(0, len(data), _MESSAGE):
            await socket.send_bytes(bytes((channel,)) + data[start : start + _MESSAGE])

    process = FakeProcess(
        command=words,
        namespace=where.namespace,
        pod=where.pod,
        container=where.container,
        tty=tty,
        _read=read,
        _write=write,
    )
    try:
        if socket.ws_protocol != _V5:
            # A kubelet sends this empty message to show that the connection is established.
            await socket.send_bytes(bytes((_STDOUT,)))
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                await _take_input(socket, send_input, process)
                tasks.cancel_scope.cancel()  # the client has disconnected

            tasks.start_soon(listen)
            said = await _outcome(function, process)
            await socket.send_bytes(bytes((_STATUS,)) + json.dumps(said).encode())
            tasks.cancel_scope.cancel()
    except* ConnectionResetError:
        pass  # the client has gone away
    finally:
        send_input.close()
        input_.close()
    await socket.close()
    return socket


async def _take_input(
    socket: web.WebSocketResponse, stdin: MemoryObjectSendStream[bytes], process: FakeProcess
) -> None:
    """Pass the client's messages on, until it disconnects."""
    async for message in socket:
        data = _bytes_of(message)
        if not data:
            continue
        channel, data = data[0], data[1:]
        if channel == _RESIZE:
            with suppress(ValueError, KeyError, TypeError):  # an invalid size changes nothing
                size = json.loads(data)
                process.size = (int(size["Width"]), int(size["Height"]))
        elif channel == _CLOSE and data == bytes((_STDIN,)) and socket.ws_protocol == _V5:
            stdin.close()
        elif channel == _STDIN and data:
            # Input after its end is dropped, and so is input that was not requested.
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await stdin.send(data)


async def _outcome(function: ProcessFunction, process: FakeProcess) -> dict[str, Any]:
    """Run the process, and return its result as a kubelet does."""
    try:
        code = await function(process)
    except ConnectionResetError:
        raise
    except Exception as error:
        log.exception("fake_process_failed", pod=process.pod, command=process.command)
        text = f"error executing command in container: {error!r}"
        return {
            "metadata": {},
            "status": "Failure",
            "message": f"Internal error occurred: {text}",
            "reason": "InternalError",
            "details": {"causes": [{"message": text}]},
            "code": 500,
        }
    if not code:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: command terminated with exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


class _Connection(ByteStream):
    """One forwarded connection, for the function on the pod's side."""

    def __init__(self, socket: web.WebSocketResponse, channel: int, received: MemoryObjectReceiveStream[bytes]):
        self._socket = socket
        self._channel = channel
        self._received = received
        self._rest = b""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        if not self._rest:
            self._rest = await self._received.receive()
        data, self._rest = self._rest[:max_bytes], self._rest[max_bytes:]
        return data

    async def send(self, item: bytes) -> None:
        for start in range(0, len(item), _MESSAGE):
            await self._socket.send_bytes(bytes((self._channel,)) + item[start : start + _MESSAGE])

    async def send_eof(self) -> None:
        """Do nothing: the connection ends when its function returns. The protocol has no other end."""

    async def aclose(self) -> None:
        self._received.close()


async def forward_ports(
    request: web.BaseRequest,
    where: Where,
    ports: list[int],
    find: Callable[[Where, int], PortFunction | None],
) -> web.StreamResponse:
    """Connect a client to ports of a pod, until all of them are done or the client disconnects."""
    socket = web.WebSocketResponse(protocols=(_V4,), timeout=_CLOSE_WITHIN)
    await socket.prepare(request)
    senders: dict[int, MemoryObjectSendStream[bytes]] = {}

    async def serve(channel: int, port: int, received: MemoryObjectReceiveStream[bytes]) -> None:
        head = port.to_bytes(2, "little")
        await socket.send_bytes(bytes((channel,)) + head)
        await socket.send_bytes(bytes((channel + 1,)) + head)
        function = find(where, port)
        if function is None:
            received.close()
        why = "connect: connection refused"
        if function is not None:
            try:
                with received:
                    await function(_Connection(socket, channel, received))
                return
            except ConnectionResetError:
                raise
            except Exception as error:
                log.exception("fake_port_failed", pod=where.pod, port=port)
                why = repr(error)
        text = f"error forwarding port {port} to pod {where.pod}: dial tcp4 127.0.0.1:{port}: {why}"
        await socket.send_bytes(bytes((channel + 1,)) + text.encode())

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
        data = _bytes_of(message)
        if len(data) > 1 and (sender := senders.get(data[0])) is not None:
            # The pod's side may have stopped reading.
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await sender.send(data[1:])


def _bytes_of(message: aiohttp.WSMessage) -> bytes:
    data = message.data
    return data if isinstance(data, bytes) else str(data).encode()
