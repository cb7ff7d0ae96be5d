"""Single deviations: all that are possible in a run. Each becomes a plan of its own.

They are found from the run without faults, which has counted what each process did and saw: a crash after each write of
a process, each of its events hidden, a restart after each of its writes on each earlier version, and its absence while
the user writes something. Sieve plans its perturbations in the same way, from a learning run.

This module does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final

from kinformer.meta.requests import UNCOUNTED
from kinformer.simulation.history import History
from kinformer.simulation.plan import (
    Away,
    Conflict,
    Crash,
    Cut,
    Deviation,
    Hide,
    Jump,
    Lag,
    Partition,
    Pause,
    Postpone,
    Repeat,
    Restart,
    RestartServer,
    Split,
    Stale,
    Upgrade,
)
from kinformer.simulation.trial import Outcome

__all__ = ("KINDS", "USUAL_KINDS", "single_deviations")

#: The kinds that are tried if nobody names others.
USUAL_KINDS: Final = ("crash", "hide", "restart", "away")


def single_deviations(run: Outcome, kinds: Sequence[str], most: int | None = None) -> list[Deviation]:
    """
    The possible deviations of these kinds, in the order of the kinds.

    :param run: the run without faults
    :param kinds: keys of :data:`KINDS`
    :param most: the most deviations of each kind, evenly spread; all if None
    :raises ValueError: if a kind is not known
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"there is no systematic pass for {unknown[0]!r}: there are {', '.join(KINDS)}")
    return list(chain.from_iterable(_spread(list(KINDS[kind](run)), most) for kind in kinds))


def _spread(deviations: list[Deviation], most: int | None) -> Sequence[Deviation]:
    if most is None or len(deviations) <= most:
        return deviations
    return [deviations[place * len(deviations) // most] for place in range(most)]


def _counted(counts: Mapping[Hashable, int], what: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """The counts of one kind of point, each with the actor or object that it is for, in sorted order."""
    for key, count in sorted((key, count) for key, count in counts.items() if isinstance(key, tuple)):
        if key[0] == what:
            yield key[1:], count


def _after_each_write(run: Outcome) -> Iterator[tuple[str, int]]:
    for (actor,), count in _counted(run.counts, "write"):
        yield from ((actor, number) for number in range(1, count + 1))


def _crashes(run: Outcome) -> Iterator[Deviation]:
    for actor, number in _after_each_write(run):
        yield Crash(actor, number, "delivered")
        yield Crash(actor, number, "lost")


def _hidden(run: Outcome) -> Iterator[Deviation]:
    for (actor, name), count in _counted(run.counts, "object"):
        yield from (Hide(actor, name, number) for number in range(1, count + 1))


def _restarts(run: Outcome) -> Iterator[Deviation]:
    for actor, number in _after_each_write(run):
        for behind in range(1, _changes_until(run.history, actor, number) + 1):
            yield Restart(actor, number, -behind)


def _changes_until(history: History, actor: str, number: int) -> int:
    """How many changes there were up to a process' n-th write, from the first change that is not the server's own."""
    changes = own = 0
    for record in history:
        if record.what != "write" or record.object.startswith(_UNCOUNTED):
            continue
        if changes or record.actor != "server":
            changes += 1
            own += record.actor == actor
            if own == number:
                return changes
    return changes


_UNCOUNTED = tuple(f"{resource}/" for resource in sorted(UNCOUNTED))


def _conflicts(run: Outcome) -> Iterator[Deviation]:
    for (actor,), count in _counted(run.counts, "try"):
        yield from (Conflict(actor, number) for number in range(1, count + 1))


def _cuts(run: Outcome) -> Iterator[Deviation]:
    for (actor,), count in _counted(run.counts, "request"):
        for number in range(1, count + 1):
            yield Cut(actor, number, "before")
            yield Cut(actor, number, "after_write")


def _absences(run: Outcome) -> Iterator[Deviation]:
    for (), count in _counted(run.counts, "user"):
        for (actor,), _ in _counted(run.counts, "request"):
            yield from (Away(actor, number) for number in range(1, count + 1))
            # The deletion of an object, and a new one of its name.
            yield from (Away(actor, number, back=2) for number in range(1, count))


def _lags(run: Outcome) -> Iterator[Deviation]:
    for (), count in _counted(run.counts, "user"):
        for (actor,), _ in _counted(run.counts, "request"):
            for back in (1, 2):
                yield from (Lag(actor, number, back) for number in range(1, count + 2 - back))


def _repeats(run: Outcome) -> Iterator[Deviation]:
    for (actor, name), count in _counted(run.counts, "object"):
        for number in range(1, count + 1):
            yield from (Repeat(actor, name, number, seconds) for seconds in (0.001, 5.0))


def _postponed(run: Outcome) -> Iterator[Deviation]:
    for (actor, name), count in _counted(run.counts, "object"):
        yield from (Postpone(actor, name, number) for number in range(1, count + 1))


def _stale(run: Outcome) -> Iterator[Deviation]:
    for (actor, resource), count in _counted(run.counts, "resource"):
        for number in range(1, count + 1):
            yield from (Stale(actor, resource, number, -behind) for behind in (1, 3))


def _servers(run: Outcome) -> Iterator[Deviation]:
    for (), count in _counted(run.counts, "change"):
        yield from (RestartServer(number, "gone") for number in range(1, count + 1))


def _each(make: Callable[[str, int], Deviation]) -> Callable[[Outcome], Iterator[Deviation]]:
    return lambda run: (make(actor, number) for actor, number in _after_each_write(run))


KINDS: Mapping[str, Callable[[Outcome], Iterator[Deviation]]] = MappingProxyType(
    {
        "crash": _crashes,
        "hide": _hidden,
        "restart": _restarts,
        "away": _absences,
        "conflict": _conflicts,
        "cut": _cuts,
        "pause": _each(Pause),
        "split": _each(Split),
        "jump": _each(Jump),
        "partition": _each(Partition),
        "lag": _lags,
        "repeat": _repeats,
        "postpone": _postponed,
        "stale": _stale,
        "upgrade": _each(Upgrade),
        "restart_server": _servers,
    }
)
"""The kinds of deviations for which there is a systematic pass. Those of :data:`USUAL_KINDS` are on by default."""
