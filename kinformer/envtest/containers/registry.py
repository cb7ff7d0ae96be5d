"""FakeContainers: the logs, commands and ports that a test has registered for containers, and what a command gets.

The containers of a pod for which nothing is registered echo. ``exec`` writes the words of the command; ``exec cat`` and
``attach`` write what they read. A port sends back what it receives. The log is the container's command line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final, Generic, TypeAlias, TypeVar

from anyio.abc import ByteStream

from kinformer.clock import Clock
from kinformer.envtest.containers.log import FakeLog

__all__ = ("FakeContainers", "FakeProcess", "PortFunction", "ProcessFunction", "Where")

T = TypeVar("T")

#: Control-D. A terminal sends it instead of closing the input.
_END_OF_INPUT: Final = b"\x04"


@dataclass(eq=False, slots=True, kw_only=True)
class FakeProcess:
    """
    One process in a container.

    :param command: the words of the command; empty for the process that a client attaches to
    :param tty: whether it has a terminal; then standard error is the same as standard output
    """

    command: tuple[str, ...]
    namespace: str
    pod: str
    container: str
    tty: bool
    _read: Callable[[], Awaitable[bytes]]
    _write: Callable[[str, bytes], Awaitable[None]]
    #: The terminal's width and height, once the client has sent them.
    size: tuple[int, int] | None = field(default=None, init=False)

    async def read(self) -> bytes:
        """Read the next piece of standard input. Empty at its end, and at once if the client has no standard input."""
        return await self._read()

    async def read_all(self) -> bytes:
        """Read all of standard input."""
        pieces = []
        while piece := await self.read():
            pieces.append(piece)
        return b"".join(pieces)

    async def write(self, data: bytes | str) -> None:
        """Write to standard output."""
        await self._write("stdout", data.encode() if isinstance(data, str) else data)

    async def write_error(self, data: bytes | str) -> None:
        """Write to standard error."""
        stream = "stdout" if self.tty else "stderr"
        await self._write(stream, data.encode() if isinstance(data, str) else data)


#: A function that stands for a command. It returns the exit code, or None for 0.
ProcessFunction: TypeAlias = Callable[[FakeProcess], Awaitable[int | None]]


#: Serves one connection to a port.
PortFunction: TypeAlias = Callable[[ByteStream], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Where:
    """A container, or a pattern for containers."""

    namespace: str
    pod: str
    container: str

    def matches(self, found: Where) -> bool:
        return (
            fnmatchcase(found.namespace, self.namespace)
            and fnmatchcase(found.pod, self.pod)
            and fnmatchcase(found.container, self.container)
        )


@dataclass(slots=True)
class _Table(Generic[T]):
    """Values by container and a key. The value that was registered last is used."""

    rows: list[tuple[Where, str, T]] = field(default_factory=list)

    def add(self, where: Where, key: str, value: T) -> None:
        self.rows.insert(0, (where, key, value))

    def find(self, where: Where, key: str = "") -> T | None:
        return next((value for here, name, value in self.rows if here.matches(where) and fnmatchcase(key, name)), None)


class FakeContainers:
    """
    The contents of the containers of an embedded server's pods::

        server.containers.log("web-*", ["started", "ready"])
        server.containers.command("web-*", echo, name="echo")
        server.containers.port("web-*", 8080, serve)

    Pods, namespaces, containers and commands are named by shell patterns. If several match, the one that was registered
    last is used. If none matches, the request is refused, and a port is closed. A pod for which nothing at all is
    registered echoes.

    :param clock: the clock for the times of lines
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logs: _Table[FakeLog] = _Table()
        self._commands: _Table[ProcessFunction] = _Table()
        self._processes: _Table[ProcessFunction] = _Table()
        self._ports: _Table[PortFunction] = _Table()

    def log(self, pod: str, lines: Iterable[str] = (), *, namespace: str = "*", container: str = "*") -> FakeLog:
        """
        Register a log. All containers that match share it.

        :param lines: the first lines
        """
        log = FakeLog(self._clock, lines)
        self._logs.add(Where(namespace, pod, container), "", log)
        return log

    def command(
        self, pod: str, function: ProcessFunction, *, name: str = "*", namespace: str = "*", container: str = "*"
    ) -> None:
        """
        Register a function for a command that is run with ``exec``.

        :param name: the first word of the command
        """
        self._commands.add(Where(namespace, pod, container), name, function)

    def process(self, pod: str, function: ProcessFunction, *, namespace: str = "*", container: str = "*") -> None:
        """Register a function for the process that clients ``attach`` to. It is called for each client."""
        self._processes.add(Where(namespace, pod, container), "", function)

    def port(self, pod: str, port: int, function: PortFunction, *, namespace: str = "*") -> None:
        """Register a function that serves each connection to a port. The connection ends when the function returns."""
        self._ports.add(Where(namespace, pod, "*"), str(port), function)

    def find_log(self, where: Where, words: Iterable[str]) -> FakeLog | None:
        """
        The log of a container. If nothing is registered for its pod, the log is the container's command line.

        :param words: the command line
        """
        found = self._logs.find(where)
        if found is None and self._echoes(where):
            line = " ".join(words)
            found = FakeLog(self._clock, [line] if line else ())
            found.end()
        return found

    def find_command(self, where: Where, words: tuple[str, ...]) -> ProcessFunction | None:
        return self._commands.find(where, words[0]) or (_echo if self._echoes(where) else None)

    def find_process(self, where: Where) -> ProcessFunction | None:
        return self._processes.find(where) or (_echo if self._echoes(where) else None)

    def find_port(self, where: Where, port: int) -> PortFunction | None:
        return self._ports.find(where, str(port)) or (_echo_bytes if self._echoes(where) else None)

    def _echoes(self, where: Where) -> bool:
        """Whether nothing is registered for the pod."""
        return not any(
            replace(here, container="*").matches(where)
            for table in (self._logs, self._commands, self._processes, self._ports)
            for here, _, _ in table.rows
        )


async def _echo(process: FakeProcess) -> None:
    # Other commands do not wait for the end of their input: most clients leave it open for a command like ls.
    if process.command and process.command != ("cat",):
        await process.write(" ".join(process.command) + "\n")
        return
    while piece := await process.read():
        await process.write(piece)
        if process.tty and _END_OF_INPUT in piece:
            return


async def _echo_bytes(connection: ByteStream) -> None:
    async for piece in connection:
        await connection.send(piece)
