"""Connections that fail as real ones do: one that dies after so many writes, one whose watches lag behind."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from typing import Any

import anyio

from kinformer.client.config import endpoint_from_url
from kinformer.client.transport import BodyStream, Transport
from kinformer.clock import Clock
from kinformer.envtest import ApiServer

__all__ = ("Fuse", "HeldBack")


class Fuse(Transport):
    """
    A connection over which so many writes are made. The answer to the last one never comes, and nothing is sent after.

    That is how it looks from the server's side when a process is killed between two writes. Events and Leases are no
    writes that anything depends on, and are not counted.
    """

    def __init__(self, server: ApiServer, writes: float, clock: Clock | None = None) -> None:
        super().__init__(endpoint_from_url(server.url, token=server.token), clock=clock or server.clock)
        self._left = writes
        self.blown = anyio.Event()
        #: How many objects were created, by resource.
        self.created: Counter[str] = Counter()

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        resource = path.split("/")[-1] if method == "POST" else path.split("/")[-2]
        if method == "GET" or (resource in ("events", "leases") and self._left > 0):
            return await super().request(method, path, **request)
        if self._left <= 0:
            await anyio.sleep_forever()
        self._left -= 1
        last = self._left <= 0
        try:
            answer = await super().request(method, path, **request)
            self.created[resource] += method == "POST"
        finally:
            if last:
                self.blown.set()
                await anyio.sleep_forever()
        return answer


class HeldBack(Fuse):
    """
    A connection over which what happens to some resources is heard of late, in its order.

    :param rng: says for how long each time
    :param resources: whose watches are held back
    """

    #: Seconds for which what was read is held; several at once are as likely as none.
    DELAYS = (0.0, 0.0, 0.01, 0.2, 1.0, 3.0)

    def __init__(self, server: ApiServer, clock: Clock, rng: random.Random, resources: Collection[str]) -> None:
        super().__init__(server, float("inf"), clock)
        self._rng = rng
        self._resources = frozenset(resources)
        self._holding = 0
        #: How often something was held back.
        self.held = 0

    async def stream(self, path: str, **request: Any) -> Any:
        stream = await super().stream(path, **request)
        return _Late(stream, self) if path.split("/")[-1] in self._resources else stream

    async def hold(self) -> None:
        """Wait as long as chance has it."""
        if delay := self._rng.choice(self.DELAYS):
            self._holding += 1
            self.held += 1
            try:
                await self.clock.sleep(delay)
            finally:
                self._holding -= 1

    def is_busy(self) -> bool:
        """Whether something is still to be heard of."""
        return self._holding > 0


class _Late:
    """A stream whose pieces come late."""

    def __init__(self, stream: BodyStream, transport: HeldBack) -> None:
        self._stream = stream
        self._transport = transport

    async def read(self) -> Any:
        pieces = await self._stream.read()
        await self._transport.hold()
        return pieces

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
