"""Remote commands: exec and attach, over a WebSocket.

The protocol is ``v5.channel.k8s.io``, or ``v4.channel.k8s.io`` with older servers. Each stream of the process is a
channel. The result of the process comes at the end, as a Status on a channel of its own. Only v5 can close standard
input.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypedDict

import anyio
import msgspec

from kinformer.client.errors import ClientError, ConnectionLost, DecodeError, Status, error_from_status
from kinformer.client.keywords import check_names

if TYPE_CHECKING:
    from kinformer.client.websocket import WebSocket

__all__ = (
    "PROTOCOLS",
    "CommandFailed",
    "CommandOutput",
    "CommandOptions",
    "CommandResult",
    "CommandSession",
    "RunOptions",
    "command_params",
    "run_command",
)

_V5: Final = "v5.channel.k8s.io"
#: The supported protocols, the best first.
PROTOCOLS: Final = (_V5, "v4.channel.k8s.io")

_STDIN: Final = 0
_STATUS: Final = 3
_RESIZE: Final = 4
_CLOSE: Final = 255
_OUTPUTS: Final[dict[int, Literal["stdout", "stderr"]]] = {1: "stdout", 2: "stderr"}

#: Bytes of standard input in one message. Between two messages other tasks have their turn.
_MESSAGE: Final = 2**15


class CommandOutput(NamedTuple):
    """A piece of a process's output."""

    stream: Literal["stdout", "stderr"]
    data: bytes


class CommandFailed(ClientError):
    """
    A command ended with an exit code other than 0.

    :param result: its output and its exit code
    """

    def __init__(self, command: Sequence[str], result: CommandResult):
        words = result.stderr.decode(errors="replace").strip().splitlines()
        said = f": {words[-1][:200]}" if words else ""
        super().__init__(f"{' '.join(command)!r} ended with exit code {result.exit_code}{said}")
        self.command = tuple(command)
        self.result = result


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The output and exit code of a command that has ended."""

    stdout: bytes
    stderr: bytes
    exit_code: int


class CommandOptions(TypedDict, total=False):
    """
    How to talk to a process: in which container, and by which streams.

    `container` may be left out if the pod has only one. `stdin` is off by default, `stdout` and `stderr` are on. `tty`
    gives it a terminal; stdout and stderr are then one stream.
    """

    container: str
    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


class RunOptions(TypedDict, total=False):
    """
    How to run a command to its end.

    `container` may be left out if the pod has only one. `input` is all of its standard input; None if it has none.
    `check` says whether another exit code than 0 is an error; it is not by default.
    """

    container: str
    input: bytes | None
    check: bool


def command_params(options: CommandOptions, command: Sequence[str] = ()) -> list[tuple[str, str]]:
    """
    The parameters of an exec or attach request.

    :raises TypeError: for an option that there is not
    :raises ValueError: if no stream is requested, or the command is a string
    """
    check_names(options, CommandOptions)
    if isinstance(command, str):
        raise ValueError(f'a command is a list of words: ["sh", "-c", {command!r}]')  # noqa: TRY004 - callers catch ValueError for all of these
    stdin, tty = options.get("stdin", False), options.get("tty", False)
    stdout, stderr = options.get("stdout", True), options.get("stderr", True)
    if not (stdin or stdout or stderr):
        raise ValueError("at least one of stdin, stdout and stderr is needed")
    params = [("command", word) for word in command]
    if container := options.get("container"):
        params.append(("container", container))
    flags = {"stdin": stdin, "stdout": stdout, "stderr": stderr and not tty, "tty": tty}
    return params + [(name, "true") for name, value in flags.items() if value]


class CommandSession:
    """
    One process in a container. ``async with`` starts it, and closes the connection. ``async for`` gives its output.

    When the loop is over, the process has ended and :attr:`exit_code` is set. If the block is left earlier, the
    connection is closed. Then the container runtime decides whether the process ends.

    :param open_: opens the WebSocket
    """

    def __init__(self, open_: Callable[[], Awaitable[WebSocket]]):
        self._open = open_
        self._socket: WebSocket | None = None
        self._status = b""
        #: The exit code; None while the process runs.
        self.exit_code: int | None = None

    async def __aenter__(self) -> CommandSession:
        """
        Start the process.

        :raises NotFound: if there is no such pod
        :raises BadRequest: if the pod has no such container, or is not on a node yet
        """
        self._socket = await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._socket is not None:
            await self._socket.close()

    def __aiter__(self) -> AsyncIterator[CommandOutput]:
        return self

    async def __anext__(self) -> CommandOutput:
        """
        The next piece of output.

        :raises StopAsyncIteration: when the process has ended
        :raises ConnectionLost: if the connection broke before the result of the process came
        :raises ApiError: if the process could not be started
        """
        if self.exit_code is not None:
            raise StopAsyncIteration
        socket = self._opened()
        while (message := await self._receive(socket)) is not None:
            channel, data = message
            if channel == _STATUS:
                self._status += data
            elif data and channel in _OUTPUTS:
                return CommandOutput(_OUTPUTS[channel], data)
        if not self._status:
            raise ConnectionLost(socket.url, "it was closed before the result of the command came")
        self.exit_code = _exit_code(self._status, socket.url)
        raise StopAsyncIteration

    async def _receive(self, socket: WebSocket) -> tuple[int, bytes] | None:
        try:
            return await socket.receive()
        except ConnectionLost:
            if self._status:  # the result has come already
                return None
            raise

    async def wait(self) -> int:
        """
        Wait until the process has ended, and return its exit code. Its output is dropped.

        :raises ConnectionLost: as :meth:`__anext__`
        """
        async for _ in self:
            pass
        assert self.exit_code is not None
        return self.exit_code

    async def write(self, data: bytes) -> None:
        """
        Write to the process's standard input; wait while the process does not read.

        :raises ConnectionLost: if the connection is closed
        """
        socket = self._opened()
        for start in range(0, len(data), _MESSAGE):
            await socket.send(_STDIN, data[start : start + _MESSAGE])

    async def close_stdin(self) -> None:
        """
        Close the process's standard input.

        :raises ClientError: if the server speaks v4 of the protocol, which cannot close it
        """
        self.check_stdin_can_be_closed()
        await self._opened().send(_CLOSE, bytes((_STDIN,)))

    def check_stdin_can_be_closed(self) -> None:
        """
        Check that the protocol can close standard input.

        :raises ClientError: if the server speaks v4 of the protocol
        """
        socket = self._opened()
        if socket.protocol != _V5:
            raise ClientError(
                f"the server speaks {socket.protocol or 'an old protocol'}, in which standard input cannot be closed: "
                "run a command that does not need the end of its input (such as `head -c SIZE`)"
            )

    async def resize(self, width: int, height: int) -> None:
        """Set the size of the process's terminal, in characters. Only with ``tty=True``."""
        await self._opened().send(_RESIZE, json.dumps({"Width": width, "Height": height}).encode())

    def _opened(self) -> WebSocket:
        if self._socket is None:
            raise RuntimeError("the command was not started: write `async with resource.exec(...) as session:`")
        return self._socket


async def run_command(session: CommandSession, input_: bytes | None) -> CommandResult:
    """
    Start a command, give it its input, and wait until it has ended.

    :param input_: all of its standard input; None if it has none
    """
    outputs: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    failure: ClientError | None = None
    async with session:
        if input_ is not None:
            session.check_stdin_can_be_closed()
        async with anyio.create_task_group() as tasks:
            if input_ is not None:
                tasks.start_soon(_feed, session, input_)
            try:
                async for output in session:
                    outputs[output.stream].append(output.data)
            except ClientError as error:
                failure = error  # raised outside of the group, which would wrap it in another error
            tasks.cancel_scope.cancel()  # a process may end without reading all of its input
    if failure is not None:
        raise failure
    assert session.exit_code is not None
    return CommandResult(b"".join(outputs["stdout"]), b"".join(outputs["stderr"]), session.exit_code)


async def _feed(session: CommandSession, data: bytes) -> None:
    try:
        await session.write(data)
        await session.close_stdin()
    except ConnectionLost:
        pass  # the reading side finds out whether the command has ended


def _exit_code(data: bytes, url: str) -> int:
    """
    The exit code in the Status of a process that has ended.

    :raises ApiError: if the command was not started
    """
    try:
        status = msgspec.json.decode(data, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"the result of the command at {url} is not a Status: {error}") from error
    if status.status == "Success":
        return 0
    for cause in (status.details.causes if status.details is not None else None) or ():
        if cause.reason == "ExitCode" and cause.message.isdecimal():
            return int(cause.message)
    raise error_from_status(status, url)
