"""A proxy between one process and the server, which can cut, hold up, and delay what goes through it.

It passes bytes on and does not understand them. So it can stand before a server with TLS, too. What was held up is
dropped in the end: no client can rule out that a network keeps a write and delivers it much later.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

import anyio
import anyio.lowlevel
from anyio.abc import SocketAttribute, SocketStream

__all__ = ("Proxy", "proxy")

_GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


class Proxy:
    """
    :param target: host and port of the server
    :ivar port: the port at which it listens on this machine
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self.port = 0
        self._delay = 0.0
        self._refuses = self._holds = False
        self._held = 0
        self._connections: set[anyio.CancelScope] = set()

    def noting(self) -> Callable[[bytes], object]:
        """A function that is given each piece that the client of one connection sends."""
        return lambda piece: None

    def drop(self) -> None:
        """Close all connections."""
        for scope in self._connections:
            scope.cancel()

    @contextmanager
    def cutting(self) -> Iterator[None]:
        """Close all connections, and new ones at once."""
        self._refuses = True
        self.drop()
        try:
            yield
        finally:
            self._refuses = False

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep the connections open and pass nothing on. What came in the meantime is dropped."""
        self._holds = True
        try:
            yield
        finally:
            self.drop()
            self._holds = False

    async def holds_up(self, pieces: int) -> None:
        """Wait until it has held up so many pieces in all."""
        while self._held < pieces:  # for tests
            await anyio.lowlevel.checkpoint()

    @contextmanager
    def slowing(self, delay: float) -> Iterator[None]:
        """Pass everything on so many seconds later."""
        self._delay = delay
        try:
            yield
        finally:
            self._delay = 0.0

    async def handle(self, client: SocketStream) -> None:
        """Serve a connection."""
        with anyio.CancelScope() as scope:
            self._connections.add(scope)
            try:
                async with client:
                    if not self._refuses:
                        await self._connect(client)
            finally:
                self._connections.discard(scope)

    async def _connect(self, client: SocketStream) -> None:
        with suppress(*_GONE):
            async with await anyio.connect_tcp(*self._target) as server, anyio.create_task_group() as tasks:

                async def passed(source: SocketStream, target: SocketStream, note: Callable[[bytes], object]) -> None:
                    with suppress(*_GONE):
                        await self._pass_on(source, target, note)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(passed, client, server, self.noting())
                tasks.start_soon(passed, server, client, bool)

    async def _pass_on(self, source: SocketStream, target: SocketStream, note: Callable[[bytes], object]) -> None:
        while True:
            piece = await source.receive(1 << 18)
            note(piece)
            if self._delay:
                await anyio.sleep(self._delay)
            if self._holds:
                self._held += 1
                await anyio.sleep_forever()  # until the connection is dropped
            await target.send(piece)


P = TypeVar("P", bound=Proxy)


@asynccontextmanager
async def proxy(target: tuple[str, int], kind: type[P] = Proxy) -> AsyncIterator[P]:  # type: ignore[assignment]
    """A proxy that serves while the block runs."""
    made = kind(target)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        made.port = listener.extra(SocketAttribute.local_port)
        tasks.start_soon(listener.serve, made.handle)
        yield made
        tasks.cancel_scope.cancel()
