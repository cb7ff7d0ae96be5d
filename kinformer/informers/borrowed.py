"""Borrowed informers: those that are there as long as somebody needs them.

Custom resources come and go, and so must the watches of whoever follows every kind that there is. Several who follow
the same kind share one watch; the last one that gives it back ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from kinformer.cache import SharedIndexInformer

__all__ = ("Borrowed", "Running")


class Running:
    """An informer that was started, and the means to end it alone."""

    def __init__(self, informer: SharedIndexInformer[Any]) -> None:
        self.informer = informer
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()
        #: How many have borrowed it.
        self.borrowers = 0

    async def run(self) -> None:
        try:
            with self.scope:
                await self.informer.run()
        finally:
            self.ended.set()


class Borrowed:
    """
    An informer that somebody has borrowed from a factory.

    :ivar informer: runs already, or soon
    """

    def __init__(self, informer: SharedIndexInformer[Any], give_back: Callable[[], None]) -> None:
        self.informer = informer
        self._give_back: Callable[[], None] | None = give_back

    def give_back(self) -> None:
        """
        Need it no longer: it ends unless somebody else does. Doing so twice is doing it once.

        Handlers that were added are to be removed before: the informer may go on.
        """
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()
