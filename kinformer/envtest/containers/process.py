"""FakeProcess: the streams and properties of a process, for a function that stands for a command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ("FakeProcess", "ProcessFunction")


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
