"""Single deviations: all that are possible in a run. Each becomes a plan of its own.

They are found from the run without faults, which has counted what each process did and saw: a crash after each write of
a process, each of its events hidden, a restart after a write on an earlier version, and its absence while the user
writes something. Sieve plans its perturbations in the same way, from a learning run. Of the restarts, only those are
played that tell something new: see :mod:`kinformer.simulation.restarts`.

This module does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Final

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
    Zone,
)
from kinformer.simulation.restarts import places, telling
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


def _at(what: str, *makes: Callable[..., Deviation]) -> Callable[[Outcome], Iterator[Deviation]]:
    """
    The deviations at each point of one kind.

    :param what: the kind of point, as in the counts of the injector
    :param makes: each makes one deviation of an actor or object, and the number of the point
    """

    def deviations(run: Outcome) -> Iterator[Deviation]:
        for key, count in _counted(run.counts, what):
            for number in range(1, count + 1):
                yield from (make(*key, number) for make in makes)

    return deviations


def _while_the_user_writes(make: Callable[[str, int, int], Deviation]) -> Callable[[Outcome], Iterator[Deviation]]:
    """
    The deviations from just before each write of the user until one or two writes later.

    Two writes can be the deletion of an object, and a new one of its name.
    """

    def deviations(run: Outcome) -> Iterator[Deviation]:
        for (), count in _counted(run.counts, "user"):
            for (actor,), _ in _counted(run.counts, "request"):
                for back in (1, 2):
                    yield from (make(actor, number, back) for number in range(1, count + 2 - back))

    return deviations


def _telling_restarts(run: Outcome) -> Iterator[Deviation]:
    forms = run.look()
    for (actor,), _ in _counted(run.counts, "write"):
        yield from (Restart(actor, write, -behind) for write, behind in telling(run.history, actor, forms))


def _all_restarts(run: Outcome) -> Iterator[Deviation]:
    for (actor,), _ in _counted(run.counts, "write"):
        yield from (Restart(actor, write, -behind) for write, behind in places(run.history, actor))


KINDS: Mapping[str, Callable[[Outcome], Iterator[Deviation]]] = MappingProxyType(
    {
        "crash": _at("write", partial(Crash, answer="delivered"), partial(Crash, answer="lost")),
        "hide": _at("object", Hide),
        "restart": _telling_restarts,
        "every_restart": _all_restarts,
        "away": _while_the_user_writes(Away),
        "conflict": _at("try", Conflict),
        "cut": _at("request", partial(Cut, where="before"), partial(Cut, where="after_write")),
        "pause": _at("write", Pause),
        "split": _at("write", Split),
        "jump": _at("write", Jump),
        "partition": _at("write", Partition),
        "lag": _while_the_user_writes(Lag),
        "repeat": _at("object", partial(Repeat, seconds=0.001), partial(Repeat, seconds=5.0)),
        "postpone": _at("object", Postpone),
        "stale": _at("resource", partial(Stale, version=-1), partial(Stale, version=-3)),
        "upgrade": _at("write", Upgrade),
        "zone": _at("write", Zone),
        "restart_server": _at("change", partial(RestartServer, history="gone")),
    }
)
"""The kinds of deviations for which there is a systematic pass. Those of :data:`USUAL_KINDS` are on by default."""
