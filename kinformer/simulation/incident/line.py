"""Line: hands the keys of a replayed controller out in the recorded order.

A controller adds keys to its queue as always. A key is handed out when the recording comes to its next sync. Before the
recording begins, keys are handed out as they come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

__all__ = ("Line",)

#: Seconds by which a key may have been added earlier than in the recording: a change that comes just before a sync
#: begins may have added the key once more.
_NEAR: Final = 1.0


class Line:
    """
    An :class:`~kinformer.workqueue.queue.Order` of keys.

    :param now: the time of the replay
    :param added: called with each key that is added
    """

    def __init__(self, now: Callable[[], float], added: Callable[[str], object]) -> None:
        self._now = now
        self._added = added
        #: Whether keys are handed out as they come.
        self.is_free = True
        #: The keys that wait, with the times at which they were added.
        self.waiting: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._granted: deque[str] = deque()
        #: Keys that are to be handed out as soon as they are added.
        self._expected: set[str] = set()

    def push(self, item: str) -> None:
        self.waiting[item] = self._last[item] = self._now()
        if self.is_free or item in self._expected:
            self._expected.discard(item)
            self._granted.append(item)
        else:
            self._added(item)

    def pop(self) -> str:
        item = self._granted.popleft()
        self.waiting.pop(item, None)
        return item

    def touch(self, item: str) -> None:
        self._last[item] = self._now()

    def __len__(self) -> int:
        return len(self._granted)

    def is_asked_for(self, item: str, at: float) -> bool:
        """Whether a key waits, or was added shortly before a time."""
        return item in self.waiting or self._last.get(item, -_NEAR) > at - _NEAR

    def grant(self, item: str) -> None:
        """Hand a key out: now if it waits, else when it is added."""
        if item not in self.waiting:
            self._expected.add(item)
        elif item not in self._granted:
            self._granted.append(item)
