"""A guest of the storage: one request that is answered in a thread of its own, because it takes long.

The storage belongs to the event loop. A guest reads it from its thread, and asks the loop to do its writes, so that
all changes are still made by one thread, one after the other. Meanwhile no other request is answered; the server's own
loops wait as well. Where somebody writes all the same, a guest that has not written anything yet is sent away with
:exc:`Disturbed`, and what it was about is done anew on the loop.
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
    """What a guest has read is no longer what is stored."""


@dataclass(slots=True)
class Guest:
    """
    :param thread: the identifier of the guest's thread; 0 until it runs
    :param is_disturbed: whether somebody else has written since it came
    :param has_written: whether it has written itself
    """

    thread: int = 0
    is_disturbed: bool = False
    has_written: bool = False

    @property
    def is_here(self) -> bool:
        """Whether this is the guest's thread."""
        return threading.get_ident() == self.thread

    def on_loop(self, function: Callable[[], T]) -> T:
        """What the event loop's thread gets from a function; for the guest's thread."""
        return anyio.from_thread.run_sync(function)
