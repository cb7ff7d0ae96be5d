"""A connection whose watches lag behind."""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

from kinformer.client.config import endpoint_from_url
from kinformer.client.transport import BodyStream, Transport
from kinformer.clock import Clock
from kinformer.envtest import ApiServer

__all__ = ("HeldBack",)


class HeldBack(Transport):
    """
    A connection over which what happens to some resources is heard of late, in its order.

    :param rng: says for how long each time
    :param resources: whose watches are held back
    """

    #: Seconds for which what was read is held; several at once are as likely as none.
    DELAYS = (0.0, 0.0, 0.01, 0.2, 1.0, 3.0)

    def __init__(self, server: ApiServer, clock: Clock, rng: random.Random, resources: Collection[str]) -> None:
        super().__init__(endpoint_from_url(server.url, token=server.token), clock=clock)
        self._rng = rng
        self._resources = frozenset(resources)
        #: How often something was held back.
        self.held = 0

    async def stream(self, path: str, **request: Any) -> Any:
        stream = await super().stream(path, **request)
        return _Late(stream, self) if path.split("/")[-1] in self._resources else stream

    async def hold(self) -> None:
        """Wait as long as chance has it."""
        if delay := self._rng.choice(self.DELAYS):
            self.held += 1
            await self.clock.sleep(delay)


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
