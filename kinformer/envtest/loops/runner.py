"""Loops: runs the server's own controllers: garbage collection, deletion of namespaces, the end of pods' grace periods.

Each :class:`Loop` gets every change while it happens, and must only note it. Later it gets its turn to act on its
notes. Acting is synchronous, one piece at a time, and the event loop has its turn in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

import anyio
import anyio.lowlevel

from kinformer.envtest.loops.ending import NamespaceCleaner, PodReaper
from kinformer.envtest.loops.garbage import GarbageCollector
from kinformer.envtest.operations import Operations
from kinformer.envtest.storage import Change
from kinformer.envtest.storage.history import ADDED
from kinformer.logs import get_logger
from kinformer.meta.names import GroupResource

__all__ = ("LOOPS", "WITHOUT_KUBELET", "Loop", "Loops")

log = get_logger(__name__)

_PIECE = 50


#: The controllers whose work the loops do. If a manager runs such a controller, run the server without that loop.
LOOPS = ("garbage-collector-controller", "namespace-controller", "kubelet")
#: For pods that wait for a kubelet after their grace period, as in a cluster.
WITHOUT_KUBELET = LOOPS[:2]


class Loop(Protocol):
    """One of the server's controllers."""

    def note(self, resource: GroupResource, change: Change) -> None:
        """Note a change. This must not write anything."""

    @property
    def is_due(self) -> bool:
        """Whether there is anything to do."""

    def act(self) -> bool:
        """Do one piece of work. Return False if there is none."""


class Loops:
    """
    The loops of one server, in one task.

    :param names: the names of those :data:`LOOPS` that run
    """

    def __init__(self, operations: Operations, names: Collection[str] = LOOPS):
        self._storage = operations.storage
        self._news = anyio.Event()
        loops: dict[str, Callable[[], Loop]] = {
            "garbage-collector-controller": lambda: GarbageCollector(operations, self._wake),
            "namespace-controller": lambda: NamespaceCleaner(operations),
            "kubelet": lambda: PodReaper(operations, self._wake),
        }
        self._loops = [make() for name, make in loops.items() if name in names]

    async def run(self) -> None:
        """Act until cancelled."""
        for resource, history in self._storage.logs():
            for version in history.select(""):
                self._note(resource, Change(ADDED, version.number, version, None))
        self._storage.listeners.append(self._note)
        try:
            while True:
                await self._storage.alone()
                if not self._act():
                    await self._news.wait()
                self._news = anyio.Event()
                await anyio.lowlevel.checkpoint()
        finally:
            self._storage.listeners.remove(self._note)

    def _note(self, resource: GroupResource, change: Change) -> None:
        due = False
        for loop in self._loops:
            loop.note(resource, change)
            due = due or loop.is_due
        # Most changes concern none of the loops. A turn of the event loop for each change would cost a patch 5 %.
        if due:
            self._wake()

    def _wake(self) -> None:
        self._news.set()

    def _act(self) -> bool:
        """Do a piece of work in every loop. Return whether there may be more."""
        busy = False
        for loop in self._loops:
            try:
                for _ in range(_PIECE):
                    if not loop.act():
                        break
                else:
                    busy = True
            except Exception:
                log.exception("apiserver_loop_failed", loop=type(loop).__name__)
                busy = True
        return busy
