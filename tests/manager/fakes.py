"""An informer that a test speaks for."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

import anyio

from kinformer.cache import ResourceEventHandler

__all__ = ("FakeInformer",)


class _Registration:
    def __init__(self, synced: anyio.Event) -> None:
        self._synced = synced

    async def wait_synced(self) -> None:
        await self._synced.wait()


class FakeInformer:
    """Keeps its handlers; the test calls them."""

    def __init__(self, *, synced: bool = True, told: bool = True) -> None:
        self.synced = anyio.Event()
        #: Set when its handlers have been told of the first list.
        self.told = self.synced if told else anyio.Event()
        if synced:
            self.synced.set()
        self._handlers: list[ResourceEventHandler[Any]] = []

    def add_event_handler(self, handler: ResourceEventHandler[Any]) -> Any:
        self._handlers.append(handler)
        return _Registration(self.told)

    async def wait_synced(self) -> None:
        await self.synced.wait()

    # As a real informer, it has handlers in a context of its own: what they note there is not of the tests that follow.

    def add(self, obj: Any) -> None:
        for handler in self._handlers:
            copy_context().run(handler.on_add, obj, False)

    def update(self, old: Any, new: Any) -> None:
        for handler in self._handlers:
            copy_context().run(handler.on_update, old, new)

    def delete(self, obj: Any) -> None:
        for handler in self._handlers:
            copy_context().run(handler.on_delete, obj)
