"""A record in memory that several candidates share, with what a server does to them: failures, delays, silence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from kinformer.client import Status
from kinformer.client.errors import AlreadyExists, Conflict, NotFound
from kinformer.leaderelection import ElectionRecord

__all__ = ("MemoryLock", "Shared")


@dataclass(eq=False)
class Shared:
    """What the server has."""

    record: ElectionRecord | None = None
    version: int = 0

    def write(self, record: ElectionRecord | None) -> None:
        self.record = record
        self.version += 1

    @property
    def holder(self) -> str:
        return self.record.holder_identity if self.record is not None else ""


@dataclass(eq=False)
class MemoryLock:
    """
    One candidate's lock.

    :ivar before: called, and awaited, before each call, with its name; may raise, and may take its time
    """

    shared: Shared
    identity: str = "me"
    calls: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    before: Callable[[str], Awaitable[None]] | None = None
    _seen: int = -1

    async def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.before is not None:
            await self.before(name)

    async def get(self) -> ElectionRecord:
        await self._called("get")
        if self.shared.record is None:
            raise NotFound(Status(code=404, reason="NotFound"))
        self._seen = self.shared.version
        return self.shared.record

    async def create(self, record: ElectionRecord) -> None:
        await self._called("create")
        if self.shared.record is not None:
            raise AlreadyExists(Status(code=409, reason="AlreadyExists"))
        self.shared.write(record)
        self._seen = self.shared.version

    async def update(self, record: ElectionRecord) -> None:
        await self._called("update")
        if self.shared.record is None:
            raise NotFound(Status(code=404, reason="NotFound"))
        if self._seen != self.shared.version:
            raise Conflict(Status(code=409, reason="Conflict"))
        self.shared.write(record)
        self._seen = self.shared.version

    def record_event(self, what: str) -> None:
        self.events.append(what)

    def describe(self) -> str:
        return "test/lease"
