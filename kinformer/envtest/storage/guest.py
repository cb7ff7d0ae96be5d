"""Guest: one request that is processed in a thread of its own, because it takes long.

The storage belongs to the event loop. A guest reads it from its thread, and passes its writes to the event loop. So all
changes are still made by one thread, one after the other. Meanwhile no other request is processed, and the server's own
loops wait as well. If something else is written all the same, a guest that has not written anything yet gets
:exc:`Disturbed`, and its request is processed again on the event loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio.from_thread

__all__ = ("Disturbed", "Guest")

T = TypeVar("T")


class Disturbed(Exception):
    """The objects that a guest has read have changed since."""


@dataclass(slots=True)
class Guest:
    """
    :param thread: the identifier of the guest's thread; 0 until it runs
    :param is_disturbed: whether other code has written since the guest came
    :param has_written: whether the guest has written
    """

    thread: int = 0
    is_disturbed: bool = False
    has_written: bool = False

    @property
    def is_here(self) -> bool:
        """Whether this is the guest's thread."""
        return threading.get_ident() == self.thread

    def on_loop(self, function: Callable[[], T]) -> T:
        """Call a function in the event loop's thread, and return its result. To be called in the guest's thread."""
        return anyio.from_thread.run_sync(function)
