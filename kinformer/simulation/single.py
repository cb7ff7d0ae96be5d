"""Single deviations: every one that a run has a place for, each a plan of its own.

The run without faults goes in, with its counts of what each process did and saw. Out come deviations: a crash after
each of its writes, each of its events hidden, a restart after each of its writes onto each earlier version. Sieve plans
its perturbations in the same way, from a run that it has learnt from.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from kinformer.simulation.history import History
from kinformer.simulation.plan import (
    Conflict,
    Crash,
    Cut,
    Deviation,
    Hide,
    Jump,
    Partition,
    Pause,
    Restart,
    RestartServer,
    Split,
)
from kinformer.simulation.requests import UNCOUNTED
from kinformer.simulation.trial import Outcome

__all__ = ("KINDS", "single_deviations")


def single_deviations(run: Outcome, kinds: Sequence[str], most: int | None = None) -> list[Deviation]:
    """
    The deviations of these kinds, in the order of the kinds.

    :param most: at most so many of each kind, evenly spread; all if None
    :raises ValueError: if there is no such kind
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
    """Each thing of a sort with its count, in an order that does not depend on the process."""
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
    """How many changes the storage has had since somebody first wrote, when a process has done its n-th write."""
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
        "conflict": _conflicts,
        "cut": _cuts,
        "pause": _each(Pause),
        "split": _each(Split),
        "jump": _each(Jump),
        "partition": _each(Partition),
        "restart_server": _servers,
    }
)
"""What there is a systematic pass for. The first three are on by default."""
