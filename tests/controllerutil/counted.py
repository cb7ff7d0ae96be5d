"""A transport that remembers what is sent, for tests that say how many requests something costs."""

from __future__ import annotations

from typing import Any

from kinformer.client import WrappedTransport

__all__ = ("Counted",)


class Counted(WrappedTransport):
    """A transport that counts what is sent."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)
        self.sent: list[str] = []

    async def request(self, method: str, path: str, **more: Any) -> bytes:
        self.sent.append(method)
        return await self._transport.request(method, path, **more)
