"""Oracles of syncs: only one at a time for each key, and none ends with a programming error."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from kinformer.simulation.history import Record
from kinformer.simulation.oracles.base import Oracle, State, Violation

__all__ = ("NoProgrammingErrors", "OneSyncAtATime")

#: A controller's name, and a key.
_Sync: TypeAlias = tuple[str, str]


class OneSyncAtATime(Oracle):
    """
    No two syncs of a key run at once, in one process or in a group with leader election or shards.

    The syncs of a process end when it is killed. A process that no longer leads may still be in a sync without knowing
    it. This does no harm if none of its writes is sent; it is *barred* then. A process that believes, because of a
    split, that it may write is left out.
    """

    name = "syncs"
    listens = ("start", "killed", "ended", "sync", "synced", "barred", "fault")

    def __init__(self) -> None:
        self._running: dict[str, dict[_Sync, int]] = {}
        self._groups: dict[str, str] = {}
        #: The barred syncs, each with its process; and the processes that a split makes believe that they may write.
        self._barred: set[tuple[str, _Sync]] = set()
        self._believing: set[str] = set()

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        actor, key = record.actor, (record.detail.partition(" ")[0], record.object)
        match record.what:
            case "start" | "killed" | "ended":
                for each in self._running.pop(actor, ()):
                    self._barred.discard((actor, each))
                if record.what == "start":
                    self._groups[actor] = record.object
                    self._believing.discard(actor)
            case "synced":
                self._running.setdefault(actor, {}).pop(key, None)
                self._barred.discard((actor, key))
            case "barred":
                self._barred.add((actor, key))
            case "fault" if record.detail.startswith("split("):
                self._believing.add(actor)
            case "sync":
                return tuple(self._begins(record, key))
        return ()

    def _begins(self, record: Record, key: _Sync) -> Iterator[Violation]:
        actor, (controller, _) = record.actor, key
        running = self._running.setdefault(actor, {})
        before = running.get(key)
        running[key] = record.number
        if before is not None:
            text = f"{actor}: {controller} syncs {record.object} while a sync of it is running"
            yield self.violation(text, before, record.number)
        group = self._groups.get(actor)
        if not group or actor in self._believing or (actor, key) in self._barred:
            return
        for other, syncs in self._running.items():
            if other == actor or key not in syncs or self._groups.get(other) != group:
                continue
            if (other, key) not in self._barred and other not in self._believing:
                text = f"{actor}: {controller} syncs {record.object} while {other} is in a sync of it and may write"
                yield self.violation(text, syncs[key], record.number)


_PROGRAMMING = frozenset(
    name
    for name, error in vars(builtins).items()
    if isinstance(error, type)
    and issubclass(
        error, (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, RecursionError)
    )
)


class NoProgrammingErrors(Oracle):
    """
    No sync ends with an error that no fault explains, such as a KeyError or a TypeError.

    A controller in Go would panic there, and Sieve has an oracle for panics. Errors of the API are left to retries.
    """

    name = "errors"
    listens = ("synced",)

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        controller, _, error = record.detail.partition(" ")
        if error.partition(":")[0].strip() not in _PROGRAMMING:
            return ()
        return (self.violation(f"{record.actor}: {controller} raised {error} for {record.object}", record.number),)
