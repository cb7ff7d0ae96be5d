"""A relay between one process and the server: what the process writes is seen there, whatever the process thinks."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from tests.endurance.proxy import Proxy, proxy

__all__ = ("Relay", "relay")

_WRITE: Final = re.compile(rb"(?:^|\n)((?:POST|PUT|PATCH|DELETE) \S+) HTTP/1\.1\r\n")
#: A request line that begins in one piece and ends in the next is found in both together.
_LINE: Final = 1024


class Relay(Proxy):
    """
    Passes bytes on, and notes the writes among them.

    :ivar writes: method and path of each, in their order
    """

    def __init__(self, target: tuple[str, int]) -> None:
        super().__init__(target)
        self.writes: list[str] = []

    def wrote(self, what: str) -> bool:
        """Whether there was a write of that kind."""
        return any(what in write for write in self.writes)

    def noting(self) -> Callable[[bytes], object]:
        rest = b""

        def note(piece: bytes) -> None:
            nonlocal rest
            text = rest + piece
            end = 0
            for found in _WRITE.finditer(text):
                self.writes.append(found[1].decode())
                end = found.end()
            rest = text[max(end, len(text) - _LINE) :]

        return note


@asynccontextmanager
async def relay(server_port: int) -> AsyncIterator[Relay]:
    """A relay to a server on this machine, on a port of its own."""
    async with proxy(("127.0.0.1", server_port), Relay) as made:
        yield made
