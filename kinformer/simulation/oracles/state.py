"""Oracles of the end: the state is that of a run without faults, nothing is written, and no store is behind."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from kinformer.simulation.history import Record
from kinformer.simulation.oracles.base import Ending, Oracle, Reference, State, Violation
from kinformer.simulation.oracles.normal import NO_STATE, differences, group_of, has_group, normal_form

__all__ = ("FinalState", "Leftovers", "Quiet", "StoresAgree")


class FinalState(Oracle):
    """
    The final state equals that of the run without faults, except for fields that may differ.

    This is Sieve's differential oracle of end states, without its second learning run: here a list names the fields
    that may differ.

    :param reference: the data of the run without faults
    :param may_differ: further patterns of fields that may differ
    """

    name = "final-state"
    listens = ("write",)

    def __init__(self, reference: Reference, may_differ: Sequence[str] = ()) -> None:
        self.reference = reference
        self.may_differ = may_differ
        self._last: dict[str, int] = {}
        self._groups: dict[str, str] = {}

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        name = record.object
        self._last[name] = record.number
        if record.detail.startswith("ADDED"):
            self._groups[name] = group_of(name, state.get(name)) if has_group(name) else name
        return ()

    def finish(self, ending: Ending) -> Iterator[Violation]:
        found = normal_form(ending.state.objects(), self.may_differ, self._groups)
        for difference in differences(found, self.reference.state):
            pattern = difference.object.replace("[", "[[]")
            records = [number for name, number in self._last.items() if fnmatchcase(name, pattern)]
            yield self.violation(str(difference), *sorted(records))


#: Larger than any rounding error of virtual times, in seconds.
_ROUNDING: Final = 1e-6


class Quiet(Oracle):
    """
    After the last fault, only the scenario and the nodes write.

    :param seconds: the time before the end in which nothing may be written
    :param remembered: how many of the latest writes are remembered
    """

    name = "quiet"
    listens = ("write", "ended")

    def __init__(self, seconds: float = 30.0, remembered: int = 500) -> None:
        self.seconds = seconds
        self._writes: deque[Record] = deque(maxlen=remembered)
        self._ended: Counter[tuple[str, str]] = Counter()

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        if record.what == "ended":
            self._ended[record.actor, record.detail] += 1
        elif record.actor not in ("user", "nodes") and not record.object.startswith(NO_STATE):
            self._writes.append(record)
        return ()

    def finish(self, ending: Ending) -> Iterator[Violation]:
        # A run may end exactly this long after its last write. Rounding must not decide whether that write is late.
        since = ending.time - self.seconds + _ROUNDING
        late = [record for record in self._writes if record.time > since]
        if late:
            times = Counter((record.actor, record.object, record.detail.partition(" ")[0]) for record in late)
            often = ", ".join(
                f"{actor} {_verb(detail)} {name} {count} times" for (actor, name, detail), count in times.most_common(3)
            )
            numbers = [record.number for record in late][-6:]
            yield self.violation(f"there is no rest, {self.seconds:g} s before the end: {often}", *numbers)
        elif not ending.settled:
            why = [f": {who} ended {count} times: {why}" for (who, why), count in self._ended.most_common(1)]
            yield self.violation(f"the run did not settle in {ending.time:g} s{''.join(why)}")


def _verb(detail: str) -> str:
    return {"ADDED": "created", "DELETED": "deleted"}.get(detail, "changed")


class StoresAgree(Oracle):
    """At the end each informer has the objects that the server would list for it, in the same versions."""

    name = "stores"

    def finish(self, ending: Ending) -> Iterator[Violation]:
        for store in ending.stores:
            for name in sorted(store.held.keys() | store.served.keys()):
                held, served = store.held.get(name), store.served.get(name)
                if held == served:
                    continue
                if held is None:
                    what = f"lacks {name}"
                elif served is None:
                    what = f"still has {name}, which is gone"
                else:
                    what = f"has {name} at version {held}, the server at {served}"
                yield self.violation(f"the informer {store.informer} of {store.actor} {what}")


class Leftovers(Oracle):
    """No task is left, and no exception is unhandled."""

    name = "leftovers"

    def finish(self, ending: Ending) -> Iterator[Violation]:
        for task in ending.tasks:
            yield self.violation(f"a task was left behind: {task}")
        for exception in ending.exceptions:
            yield self.violation(f"nobody handled {exception}")
