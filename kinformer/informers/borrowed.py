"""Borrowed informers: informers that exist only while something needs them.

Custom resources come and go. Code that follows every kind must start and end its watches with them. All borrowers of
the same kind share one watch. It ends when the last borrower gives it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from kinformer.cache import SharedIndexInformer

__all__ = ("Borrowed", "Running")


class Running:
    """A started informer, with a cancel scope that ends this one alone."""

    def __init__(self, informer: SharedIndexInformer[Any]) -> None:
        self.informer = informer
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()
        #: The number of borrowers.
        self.borrowers = 0

    async def run(self) -> None:
        try:
            with self.scope:
                await self.informer.run()
        finally:
            self.ended.set()


class Borrowed:
    """
    An informer that was borrowed from a factory.

    :ivar informer: the informer, which runs or is about to run
    """

    def __init__(self, informer: SharedIndexInformer[Any], give_back: Callable[[], None]) -> None:
        self.informer = informer
        self._give_back: Callable[[], None] | None = give_back

    def give_back(self) -> None:
        """
        Give the informer back. It ends if it has no other borrowers. A second call has no effect.

        Remove your handlers before this call, because the informer may go on.
        """
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()
