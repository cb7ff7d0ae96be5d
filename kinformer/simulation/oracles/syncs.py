"""Oracles of syncs: one at a time for each key, none ends with an error of the program, and the leader alone writes."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence

from kinformer.simulation.history import Record
from kinformer.simulation.oracles.base import Oracle, State, Violation

__all__ = ("LeaderAlone", "NoProgrammingErrors", "OneSyncAtATime")


class OneSyncAtATime(Oracle):
    """No two syncs of one key run at once in a process. What the process was at when it was killed has ended."""

    name = "syncs"
    listens = ("start", "killed", "sync", "synced")

    def __init__(self) -> None:
        self._running: dict[str, dict[tuple[str, str], int]] = {}

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        if record.what in ("start", "killed"):
            self._running.pop(record.actor, None)
            return ()
        running = self._running.setdefault(record.actor, {})
        controller = record.detail.partition(" ")[0]
        key = (controller, record.object)
        if record.what == "synced":
            running.pop(key, None)
            return ()
        before = running.get(key)
        running[key] = record.number
        if before is None:
            return ()
        text = f"{record.actor}: {controller} syncs {record.object} while a sync of it is running"
        return (self.violation(text, before, record.number),)


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
    No sync ends with an error that no fault explains: a KeyError, a TypeError and their like.

    Go's controllers panic there, which is an oracle of Sieve's as well. Errors of the API are for retries.
    """

    name = "errors"
    listens = ("synced",)

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        controller, _, error = record.detail.partition(" ")
        if error.partition(":")[0].strip() not in _PROGRAMMING:
            return ()
        return (self.violation(f"{record.actor}: {controller} raised {error} for {record.object}", record.number),)


class LeaderAlone(Oracle):
    """
    Who has led writes no more once another process holds the lease.

    A process may if a fault makes it believe that it still leads. Only Leases with a holder count, and only processes
    that have held one.
    """

    name = "leader"
    listens = ("start", "fault", "write")

    def __init__(self) -> None:
        self._holders: dict[str, tuple[str, int]] = {}
        self._lost: dict[str, tuple[str, str, int]] = {}
        self._believing: set[str] = set()

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        if record.what == "start":
            self._lost.pop(record.actor, None)
            self._believing.discard(record.actor)
            return ()
        if record.what == "fault":
            if record.detail.startswith("split("):
                self._believing.add(record.actor)
            return ()
        if record.object.startswith("leases.coordination.k8s.io/"):
            self._lease(record, state)
            return ()
        return tuple(self._write(record))

    def _lease(self, record: Record, state: State) -> None:
        lease = state.get(record.object)
        if lease is None or not (lease.get("spec") or {}).get("holderIdentity"):
            return
        before, _ = self._holders.get(record.object, (record.actor, 0))
        self._holders[record.object] = (record.actor, record.number)
        self._lost.pop(record.actor, None)
        if before != record.actor:
            self._lost[before] = (record.object, record.actor, record.number)

    def _write(self, record: Record) -> Iterator[Violation]:
        lost = self._lost.get(record.actor)
        if lost is None or record.actor in self._believing:
            return
        lease, leader, number = lost
        if record.object.startswith(("events/", "events.events.k8s.io/")):
            return
        text = f"{record.actor} writes {record.object} although {leader} holds {lease}"
        yield self.violation(text, number, record.number)
