"""Sets of indexes in the notation of a Job's status: ``0,2-5,7``.

A set is a list of intervals, in order and with gaps between them. So the cost for a Job with a million completions
depends on the number of gaps, not on the number of indexes.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from kinformer.logs import get_logger
from kinformer.meta.integers import read_integer

__all__ = ("Indexes", "Interval")

log = get_logger(__name__)


class Interval(NamedTuple):
    """From `first` to `last`, both included."""

    first: int
    last: int


_FIRST = attrgetter("first")
_LAST = attrgetter("last")


class Indexes:
    """
    An immutable set of indexes.

    :param intervals: in order, with gaps between them. (Parsed from an invalid status, they may break this rule.)
    """

    __slots__ = ("intervals",)

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        self.intervals: tuple[Interval, ...] = tuple(intervals)

    @classmethod
    def parse(cls, text: str | None, completions: int) -> Indexes:
        """
        Parse the indexes of a status or a success policy, up to the Job's completions. Invalid parts are skipped and
        logged.
        """
        found: list[Interval] = []
        for part in (text or "").split(",") if text else ():
            first_text, *rest = part.split("-")
            first = read_integer(first_text)
            last = read_integer(rest[0]) if rest else first
            if first is None:
                log.info("indexes_corrupted", interval=part)
                continue
            if first >= completions:
                break
            if last is None:
                log.info("indexes_corrupted", interval=part)
                continue
            last = min(last, completions - 1) if rest else last
            if found and found[-1].last == first - 1:
                found[-1] = Interval(found[-1].first, last)
            else:
                found.append(Interval(first, last))
        return cls(found)

    def with_indexes(self, indexes: Iterable[int]) -> Indexes:
        """Return the set with further indexes, in any order."""
        return self.union(Indexes(Interval(index, index) for index in sorted(set(indexes))))

    def union(self, other: Indexes) -> Indexes:
        """Return the union of both sets."""
        merged: list[Interval] = []
        for interval in heapq.merge(other.intervals, self.intervals, key=_FIRST):
            if not merged or interval.first > merged[-1].last + 1:
                merged.append(interval)
            elif interval.last > merged[-1].last:
                merged[-1] = Interval(merged[-1].first, interval.last)
        return Indexes(merged)

    def gaps(self, completions: int) -> Iterator[int]:
        """Return the indexes below `completions` that are not in the set, in ascending order."""
        index = 0
        for first, last in self.intervals:
            yield from range(index, min(first, completions))
            index = max(index, last + 1)
        yield from range(index, completions)

    def overlap(self, other: Indexes) -> int:
        """Return how many indexes are in both sets."""
        mine, theirs, count = 0, 0, 0
        while mine < len(self.intervals) and theirs < len(other.intervals):
            one, another = self.intervals[mine], other.intervals[theirs]
            count += max(0, min(one.last, another.last) - max(one.first, another.first) + 1)
            mine += one.last <= another.last
            theirs += another.last <= one.last
        return count

    def __contains__(self, index: int) -> bool:
        place = bisect_left(self.intervals, index, key=_LAST)
        return place < len(self.intervals) and self.intervals[place].first <= index

    @property
    def count(self) -> int:
        """The number of indexes. It is wrong if the status has an interval that ends before it begins."""
        return sum(last - first + 1 for first, last in self.intervals)

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Indexes) and self.intervals == other.intervals

    def __hash__(self) -> int:
        return hash(self.intervals)

    def __str__(self) -> str:
        return ",".join(map(_text, self.intervals))

    def __repr__(self) -> str:
        return f"Indexes({str(self)!r})"


def _text(interval: Interval) -> str:
    first, last = interval
    if first >= last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
