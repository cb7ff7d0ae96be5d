"""A transport that remembers what is sent, for tests that say how many requests something costs."""

from __future__ import annotations

from typing import Any

__all__ = ("Counted",)


class Counted:
    """A transport that counts what is sent."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.sent: list[str] = []

    async def request(self, method: str, path: str, **more: Any) -> bytes:
        self.sent.append(method)
        answer: bytes = await self._transport.request(method, path, **more)
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
