"""The oracle of churn: no object is created or deleted more often than without faults, up to a bound.

A controller that deletes a PersistentVolumeClaim and creates it again ends in the right state, but the data is lost.
Sieve's state-update summaries find this; this oracle counts in the same way. For an object with a fixed name, the bound
is the count without faults: it can be created twice only if it was deleted. For objects with generated names, the bound
is higher. A process that starts with an old view cannot know which of them exist, so it may rightly create too many and
delete some again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from kinformer.simulation.history import Record
from kinformer.simulation.oracles.base import Ending, Oracle, Reference, State, Violation
from kinformer.simulation.oracles.normal import LEFT_OUT, group_of, has_group

__all__ = ("Churn",)


class Churn(Oracle):
    """
    Creations and deletions are bounded by those of the run without faults.

    :param reference: the data of the run without faults; None in that run itself
    :param extra: how many more there may be of an object with a fixed name
    :param extra_generated: the same for a group of generated names, for each fault: a share of the creations without
        faults
    :param left_out: patterns of names that are not counted
    """

    name = "churn"
    listens = ("write", "fault")

    def __init__(
        self,
        reference: Reference | None = None,
        extra: int = 0,
        extra_generated: float = 1.0,
        left_out: Sequence[str] = (),
    ) -> None:
        self.reference = reference
        self.extra = extra
        self.extra_generated = extra_generated
        self.left_out = (*LEFT_OUT, *left_out)
        self.made: Counter[str] = Counter()
        self.removed: Counter[str] = Counter()
        #: By the name of each object that was created, its name or that of its group.
        self.groups: dict[str, str] = {}
        self._records: dict[tuple[str, str], list[int]] = {}
        self._faults = 0

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        if record.what == "fault":
            self._faults += 1
            return ()
        verb = record.detail.partition(" ")[0]
        if verb not in ("ADDED", "DELETED"):
            return ()
        name = record.object
        if verb == "ADDED":
            self.groups[name] = group_of(name, state.get(name)) if has_group(name) else name
        group = self.groups.get(name, name)
        (self.made if verb == "ADDED" else self.removed)[group] += 1
        self._records.setdefault((group, verb), []).append(record.number)
        return ()

    def finish(self, ending: Ending) -> Iterator[Violation]:
        if self.reference is None:
            return
        yield from self._too_many("ADDED", "created", self.made, self.reference.made)
        yield from self._too_many("DELETED", "deleted", self.removed, self.reference.removed)

    def _too_many(self, verb: str, word: str, found: Mapping[str, int], want: Mapping[str, int]) -> Iterator[Violation]:
        for name, count in sorted(found.items()):
            usual = want.get(name, 0)
            if count <= usual + self._slack(name, usual) or any(fnmatchcase(name, out) for out in self.left_out):
                continue
            numbers = self._records[name, verb][-3:]
            yield self.violation(f"{name} was {word} {_times(count)}; without faults {_times(usual)}", *numbers)

    def _slack(self, name: str, usual: int) -> int:
        if not name.endswith("*"):
            return self.extra
        most = max(usual, self.reference.made.get(name, 0) if self.reference is not None else 0, 1)
        return math.ceil(self.extra_generated * most) * self._faults


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")
