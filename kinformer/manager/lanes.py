"""Lanes: an order of keys in which what somebody has just done goes before what a first list brought.

After a restart the first list adds every object there is, and resyncs do so again and again. With two lanes those keys
wait behind all others, so that a user's change is not an hour behind the backlog. controller-runtime's priority queue
has the same rule (``UsePriorityQueue``), with one number for each key; two lanes are what its default handlers use.
"""

from __future__ import annotations

from collections import deque

__all__ = ("Lanes",)


class Lanes:
    """
    An :class:`~kinformer.workqueue.queue.Order` with two lanes.

    A key is in line once. One that waits in the slow lane and is added for another reason moves to the end of the fast
    one; it never moves back.

    :ivar slowly: whether keys that are added now may wait
    """

    __slots__ = ("_fast", "_slow", "slowly")

    def __init__(self) -> None:
        self._fast: deque[str] = deque()
        #: In the order of arrival.
        self._slow: dict[str, None] = {}
        self.slowly = False

    def push(self, item: str) -> None:
        if self.slowly:
            self._slow[item] = None
        else:
            self._fast.append(item)

    def pop(self) -> str:
        if self._fast:
            return self._fast.popleft()
        item = next(iter(self._slow))
        del self._slow[item]
        return item

    def touch(self, item: str) -> None:
        if not self.slowly and item in self._slow:
            del self._slow[item]
            self._fast.append(item)

    def __len__(self) -> int:
        return len(self._fast) + len(self._slow)
