"""FakeContainers: the logs, commands and ports that a test has registered for containers, and what a command gets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Generic, TypeAlias, TypeVar

from anyio.abc import ByteStream

from kinformer.clock import Clock
from kinformer.envtest.containers.log import FakeLog

__all__ = ("FakeContainers", "FakeProcess", "PortFunction", "ProcessFunction", "Where")

T = TypeVar("T")


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
    last is used. If none matches, the request is refused, and a port is closed.

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

    def find_log(self, where: Where) -> FakeLog | None:
        return self._logs.find(where)

    def find_command(self, where: Where, words: tuple[str, ...]) -> ProcessFunction | None:
        return self._commands.find(where, words[0]) if words else None

    def find_process(self, where: Where) -> ProcessFunction | None:
        return self._processes.find(where)

    def find_port(self, where: Where, port: int) -> PortFunction | None:
        return self._ports.find(where, str(port))
