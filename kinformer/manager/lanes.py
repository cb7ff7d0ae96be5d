"""Lanes: an order of keys in which fresh changes go before the keys of the first list and of resyncs.

After a restart, the first list adds the keys of all objects, and so does each resync. With two lanes, these keys wait
behind all others, so that a user's change does not wait until the backlog is done. controller-runtime's priority queue
(the default there since 0.23) has a number as the priority of each key. Its default handlers use two priorities, with
the same effect.

A queue has lanes only while there is a backlog. Before and after it, keys are in one deque, and cost nothing more.
"""

from __future__ import annotations

from collections import OrderedDict, deque

__all__ = ("Lanes",)


class Lanes:
    """
    An :class:`~kinformer.workqueue.queue.Order` with two lanes.

    A key is in one lane only. If a key in the slow lane is added again for a fresh change, it moves to the end of the
    fast lane. It never moves back.

    :param fast: the fast lane. What is in it already goes first
    :ivar slowly: whether keys that are added now go to the slow lane
    """

    __slots__ = ("_slow", "fast", "slowly")

    def __init__(self, fast: deque[str]) -> None:
        self.fast = fast
        #: In the order of arrival.
        self._slow: OrderedDict[str, None] = OrderedDict()
        self.slowly = False

    @property
    def has_backlog(self) -> bool:
        """Whether there are keys in the slow lane."""
        return bool(self._slow)

    def push(self, item: str) -> None:
        if self.slowly:
            self._slow[item] = None
        else:
            self.fast.append(item)

    def pop(self) -> str:
        if self.fast:
            return self.fast.popleft()
        # A plain dict would look for its first key behind those that were taken: a time that grows with their number.
        return self._slow.popitem(last=False)[0]

    def touch(self, item: str) -> None:
        if not self.slowly and item in self._slow:
            del self._slow[item]
            self.fast.append(item)

    def __len__(self) -> int:
        return len(self.fast) + len(self._slow)
