"""What tests of informers share: a source with its informer, handlers that remember, and running within a block."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kinformer.cache import DeletedFinalStateUnknown, InformerOptions, SharedIndexInformer
from kinformer.cache.options import QueueKind
from kinformer.cache.testing import FakeControllerSource
from kinformer.clock import FakeClock
from kinformer.tasks import plain_task_group
from tests.cache.scripted import obj

__all__ = ("KINDS", "Scene", "Told", "passing", "running", "short")

KINDS: tuple[QueueKind, ...] = ("delta", "real")


class Scene:
    """A source and an informer of it, on a clock that is turned."""

    def __init__(self, *names: str, queue: QueueKind = "delta", **more: Any):
        self.clock = FakeClock()
        self.source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
        for name in names:
            self.source.add(obj(name, 0))
        self.informer: SharedIndexInformer[dict[str, Any]] = SharedIndexInformer(
            self.source,
            dict,
            name="pods",
            options=InformerOptions(queue=queue, random=lambda: 0.0),
            clock=self.clock,
            **more,
        )

    @property
    def objects(self) -> list[str]:
        return sorted(map(short, self.informer.indexer.list()))


def short(obj: Any) -> str:
    """An object as ``name@version``; a tombstone as ``?name@version``."""
    if isinstance(obj, DeletedFinalStateUnknown):
        return "?" + (short(obj.obj) if obj.obj is not None else obj.key)
    return f"{obj['metadata']['name']}@{obj['metadata'].get('resourceVersion', '')}"


class Told:
    """A handler that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self.told.append(f"{'initial ' if is_in_initial_list else ''}add {short(obj)}")

    def on_update(self, old: Any, new: Any, /) -> None:
        self.told.append(f"update {short(old)} {short(new)}")

    def on_delete(self, obj: Any, /) -> None:
        self.told.append(f"delete {short(obj)}")

    def taken(self) -> list[str]:
        """What it was told since this was asked last."""
        told, self.told = self.told, []
        return told


@asynccontextmanager
async def running(*runs: Callable[[], Awaitable[Any]]) -> AsyncIterator[anyio.CancelScope]:
    """Run these; leaving cancels them."""
    async with plain_task_group() as tasks:
        for run in runs:
            tasks.start_soon(run)
        yield tasks.cancel_scope
        tasks.cancel_scope.cancel()


async def passing(clock: FakeClock, run: Callable[[], Awaitable[Any]]) -> Any:
    """Await something while the clock runs as it is asked to."""
    result: Any = None

    async def get() -> None:
        nonlocal result
        try:
            result = await run()
        except Exception as error:
            result = error

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(get)
        for _ in range(10_000):
            await clock.settle()
            if (wait := clock.next_due) is None:
                break
            clock.turn(wait)
        await clock.settle()
    return result
