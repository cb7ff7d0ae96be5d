"""Shrinking: make a plan that fails as small as possible, so that it still fails.

First deviations are removed (by ddmin of Zeller and Hildebrandt), then the numbers of the remaining deviations are made
smaller, then the seed is changed to zero. The resulting plan fails. Unless the number of tries ran out, it does not
fail without any one of its deviations.

Everything here is pure, except the function that plays a plan. If that one is deterministic, so is the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from kinformer.simulation.plan import Delay, Deviation, Jump, Plan, PlanError, Restart

__all__ = ("Shrunk", "shrink", "smaller")


@dataclass(frozen=True, slots=True)
class Shrunk:
    """
    The result of shrinking.

    :param plan: the smallest plan that fails
    :param tries: how many plans were played
    :param complete: False if the number of tries ran out before all smaller plans were tried
    """

    plan: Plan
    tries: int
    complete: bool


class _OutOfTries(Exception):
    """No further plan may be played."""


@dataclass(eq=False, slots=True)
class _Test:
    """The test of a plan. It remembers results, and allows a limited number of tries."""

    fails: Callable[[Plan], bool]
    most: int
    smallest: Plan
    _known: dict[str, bool] = field(default_factory=dict)

    @property
    def tries(self) -> int:
        return len(self._known)

    def __call__(self, plan: Plan) -> bool:
        line = str(plan)
        if line not in self._known:
            if self.tries >= self.most:
                raise _OutOfTries
            self._known[line] = self.fails(plan)
        if self._known[line]:
            self.smallest = plan
        return self._known[line]


def shrink(plan: Plan, fails: Callable[[Plan], bool], *, most: int = 400) -> Shrunk:
    """
    Make a plan that fails as small as possible.

    :param plan: a plan that fails; it is not played again
    :param fails: plays a plan; returns whether it fails in the same way
    :param most: the most plans that are played
    """
    test = _Test(fails, most, plan)
    try:
        before = None
        while before != test.smallest:
            # With a smaller number, another deviation may not be needed any more. So the first step is done again.
            before = test.smallest
            _fewer(test)
            _smaller_numbers(test)
        _another_seed(test)
    except _OutOfTries:
        return Shrunk(test.smallest, test.tries, complete=False)
    return Shrunk(test.smallest, test.tries, complete=True)


def _fewer(test: _Test) -> None:
    """Remove deviations by ddmin: first large parts of them, then smaller parts."""
    seed = test.smallest.seed
    if test.smallest.deviations and test(Plan(seed)):
        return
    parts = 2
    while (count := len(test.smallest.deviations)) >= 2:
        kept = test.smallest.deviations
        for rest in _complements(kept, min(parts, count)):
            if test(Plan(seed, rest)):
                parts = max(parts - 1, 2)
                break
        else:
            if parts >= count:
                return
            parts = min(parts * 2, count)


def _complements(items: Sequence[Deviation], parts: int) -> Iterator[tuple[Deviation, ...]]:
    """For each of `parts` equal parts, the items without it. The last part comes first: it is needed less often."""
    edges = [round(len(items) * number / parts) for number in range(parts + 1)]
    for start, end in reversed(list(pairwise(edges))):
        yield (*items[:start], *items[end:])


def _smaller_numbers(test: _Test) -> None:
    place = 0
    while place < len(test.smallest.deviations):
        plan = test.smallest
        before, old, after = plan.deviations[:place], plan.deviations[place], plan.deviations[place + 1 :]
        # A deviation must not be in a plan twice.
        news = (new for new in smaller(old) if new not in plan.deviations)
        if not any(test(Plan(plan.seed, (*before, new, *after))) for new in news):
            place += 1


def _another_seed(test: _Test) -> None:
    if test.smallest.seed:
        test(replace(test.smallest, seed=0))


def smaller(deviation: Deviation) -> Iterator[Deviation]:
    """Simpler deviations of the same kind and for the same process, the simplest first."""
    for name in deviation.__dataclass_fields__:
        for value in _smaller_values(deviation, name, getattr(deviation, name)):
            try:
                yield replace(deviation, **{name: value})
            except PlanError:
                # This value is not possible together with the values of the other fields.
                continue


def _smaller_values(deviation: Deviation, name: str, value: Any) -> Iterator[Any]:
    match name:
        case "answer" if value == "lost":
            yield "delivered"
        case "history" if value == "gone":
            yield "kept"
        case "where" if value != "before":
            yield "before"
        case "version":
            yield from (-number for number in _counts(-value, 1))
        case "write" | "request" | "event" | "change" | "retry_after":
            # A Delay has two counts, and one of them is zero.
            yield from _counts(value, int(not (isinstance(deviation, Delay) or name == "retry_after")))
        case "seconds":
            yield from _seconds(deviation, value)
        case _:
            return


def _counts(value: int, least: int) -> Iterator[int]:
    """Smaller counts: the least one, half of it, and one less."""
    yield from dict.fromkeys(number for number in (least, value // 2, value - 1) if least <= number < value)


def _seconds(deviation: Deviation, value: float) -> Iterator[float]:
    if isinstance(deviation, Jump):
        sign = 1.0 if value > 0 else -1.0
        yield from (sign * size for size in (1.0, 60.0, 3600.0) if size < abs(value))
    elif not isinstance(deviation, Restart):
        # A restart is not simpler if its replica catches up sooner.
        yield from (size for size in (1.0, 5.0, 15.0, 60.0) if size < value)
