"""The oracle of handlers: the calls of a handler for an object are a possible history of the object.

The promise is that of client-go. A handler sees versions that the server had, in their order. Versions may be left out,
but they never go back while the process lives. An object is added before it is updated or deleted. After a deletion it
has to be added again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kinformer.simulation.history import Record
from kinformer.simulation.oracles.base import Oracle, State, Violation

__all__ = ("PossibleHistories",)


@dataclass(slots=True)
class _Told:
    """The last call of a handler for an object."""

    version: int
    present: bool
    record: int


class PossibleHistories(Oracle):
    """The versions of an object that each handler sees are a subsequence of those that the server had."""

    name = "handlers"
    listens = ("start", "write", "event")

    def __init__(self) -> None:
        self._versions: dict[str, set[int]] = {}
        self._told: dict[str, dict[tuple[str, str], _Told]] = {}

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        if record.what == "write":
            self._versions.setdefault(record.object, set()).add(record.version)
            return ()
        if record.what == "start":
            # A new process knows nothing, and may begin on a server that is behind.
            self._told.pop(record.actor, None)
            return ()
        return tuple(self._event(record))

    def _event(self, record: Record) -> Iterator[Violation]:
        verb, _, handler = record.detail.partition(" ")
        known = self._told.setdefault(record.actor, {})
        before = known.get((handler, record.object))
        known[handler, record.object] = _Told(record.version, verb != "delete", record.number)
        who = f"{record.actor}'s handler {handler}".rstrip()
        numbers = (*((before.record,) if before is not None else ()), record.number)
        present = before is not None and before.present
        if (verb == "add") == present:
            told = "added again" if present else f"told of the {verb}"
            why = "which it has already" if present else "which it was never told of"
            yield self.violation(f"{who} is {told} of {record.object}, {why}", *numbers)
        if before is not None and record.version < before.version:
            text = f"{who} goes back from version {before.version} of {record.object} to {record.version}"
            yield self.violation(text, *numbers)
        versions = self._versions.get(record.object, ())
        # A version from before the run has no record, and neither has one that a conversion makes.
        if record.version not in versions and versions and record.version > min(versions) and verb != "delete":
            yield self.violation(
                f"{who} is told of version {record.version} of {record.object}, which never was", *numbers
            )
