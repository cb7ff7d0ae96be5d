"""A relay between one process and the server: what the process writes is seen there, whatever the process thinks."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
from anyio.abc import SocketAttribute, SocketStream

__all__ = ("Relay", "relay")

_WRITE: Final = re.compile(rb"(?:^|\n)((?:POST|PUT|PATCH|DELETE) \S+) HTTP/1\.1\r\n")
#: A request line that begins in one piece and ends in the next is found in both together.
_LINE: Final = 1024


class Relay:
    """
    Passes bytes on, and notes the writes among them.

    :ivar writes: method and path of each, in their order
    """

    def __init__(self) -> None:
        self.port = 0
        self.writes: list[str] = []

    def wrote(self, what: str) -> bool:
        """Whether there was a write of that kind."""
        return any(what in write for write in self.writes)

    async def handle(self, server_port: int, client: SocketStream) -> None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with (
                client,
                await anyio.connect_tcp("127.0.0.1", server_port) as server,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(self._pass_on, server, client, tasks.cancel_scope)
                await self._note_and_pass_on(client, server)
                tasks.cancel_scope.cancel()

    async def _note_and_pass_on(self, client: SocketStream, server: SocketStream) -> None:
        rest = b""
        async for piece in client:
            text = rest + piece
            end = 0
            for found in _WRITE.finditer(text):
                self.writes.append(found[1].decode())
                end = found.end()
            rest = text[max(end, len(text) - _LINE) :]
            await server.send(piece)

    async def _pass_on(self, server: SocketStream, client: SocketStream, scope: anyio.CancelScope) -> None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for piece in server:
                await client.send(piece)
        scope.cancel()


@asynccontextmanager
async def relay(server_port: int) -> AsyncIterator[Relay]:
    """A relay to a server on this machine, on a port of its own."""
    made = Relay()
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        made.port = listener.extra(SocketAttribute.local_port)

        async def handle(client: SocketStream) -> None:
            with suppress(BaseExceptionGroup):
                await made.handle(server_port, client)

        tasks.start_soon(listener.serve, handle)
        yield made
        tasks.cancel_scope.cancel()
