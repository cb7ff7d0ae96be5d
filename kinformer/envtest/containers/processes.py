"""Exec and attach: connect the channels of a client's WebSocket with the function that a test has registered.

The first byte of each message is its channel. There are channels for the standard streams, for the Status at the end of
the process, and for the terminal's size.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import aiohttp
import anyio
from aiohttp import web
from anyio.streams.memory import MemoryObjectSendStream

from kinformer.envtest.containers.registry import FakeProcess, ProcessFunction, Where
from kinformer.logs import get_logger

__all__ = ("bytes_of", "serve_process")

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
        data = bytes_of(message)
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


def bytes_of(message: aiohttp.WSMessage) -> bytes:
    """The bytes of a message. Some clients send them as text."""
    data = message.data
    return data if isinstance(data, bytes) else str(data).encode()
