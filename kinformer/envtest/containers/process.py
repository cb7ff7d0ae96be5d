"""A fake process: what a function that stands for a command reads, writes and knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ("FakeProcess", "ProcessFunction")


@dataclass(eq=False, slots=True, kw_only=True)
class FakeProcess:
    """
    One process in a container.

    :param command: its words; empty for the process that somebody attaches to
    :param tty: whether it has a terminal; standard error is standard output then
    """

    command: tuple[str, ...]
    namespace: str
    pod: str
    container: str
    tty: bool
    _read: Callable[[], Awaitable[bytes]]
    _write: Callable[[str, bytes], Awaitable[None]]
    #: The terminal's width and height, once the client has said so.
    size: tuple[int, int] | None = field(default=None, init=False)

    async def read(self) -> bytes:
        """What comes next on standard input; empty at its end, and at once if the client gives none."""
        return await self._read()

    async def read_all(self) -> bytes:
        """All of standard input."""
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


#: Stands for a command: gives its exit code, None for 0.
ProcessFunction: TypeAlias = Callable[[FakeProcess], Awaitable[int | None]]
