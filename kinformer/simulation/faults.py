"""The fault injector: it decides at each point of a run what goes wrong there.

A point is, for example: a write is done, a request arrives, an event is about to reach a process. The injector returns
the deviations for this point: those that the plan names, and those that are drawn at random by the rates of
:class:`Faults`. It remembers all that happened: :attr:`Injector.plan_as_it_happened` does the same without rates.

The injector keeps the counts by which plans name their moments. It draws from its own generator, so that faults do not
change the other random numbers of a run.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from kinformer.simulation.plan import (
    Away,
    Conflict,
    Crash,
    Cut,
    Delay,
    Deviation,
    Hide,
    Jump,
    Lag,
    Partition,
    Pause,
    Plan,
    Postpone,
    Refuse,
    Repeat,
    Restart,
    RestartServer,
    Silent,
    Split,
    Stale,
    Upgrade,
    Zone,
)

__all__ = ("Faults", "FaultsError", "Fork", "Injector", "moment_of")


class FaultsError(ValueError):
    """A fault is not known, or its rate is not a probability. The text names the fault."""


# More than 15 fields: one rate for each kind of fault, and how they are drawn.
@dataclass(frozen=True, slots=True)
class Faults:
    """
    How often each kind of fault happens: a probability from 0 to 1 for each point where it can happen.

    Each kind is described by the class of its name in :mod:`kinformer.simulation.plan`.

    :param crash: after a write
    :param restart: after a write; the process starts again on a server that is behind
    :param pause: after a write
    :param jump: after a write. By default zero: a controller that waits for a time may rightly end in another state
    :param split: after a write; it has an effect only on a process that may hold a Lease
    :param conflict: before a write
    :param cut: at a request
    :param refuse: at a request
    :param delay: at a request, and at an event
    :param hide: at an event
    :param silent: at an event
    :param restart_server: after a change
    :param partition: after a write. By default zero: without leader election it finds no more than cuts do
    :param away: before a write of the user. By default zero: the one-by-one pass tries each of these writes
    :param lag: before a write of the user. By default zero, like the four rates below
    :param repeat: at an event
    :param postpone: at an event
    :param stale: at an event
    :param upgrade: after a write; it has an effect only on a process that has a next version
    :param zone: after a write. By default zero: it only touches code that uses local time
    :param most: the most faults in a run. After them nothing more goes wrong, and everything has to settle
    :param swarm: whether each seed leaves out about half of the kinds, which makes runs differ more from one another
        (Groce et al., "Swarm testing", ISSTA 2012)
    :raises FaultsError: if a rate is not from 0 to 1, or `most` is below zero
    """

    crash: float = 0.03
    restart: float = 0.02
    pause: float = 0.01
    jump: float = 0.0
    split: float = 0.005
    conflict: float = 0.02
    cut: float = 0.02
    refuse: float = 0.02
    delay: float = 0.02
    hide: float = 0.02
    silent: float = 0.005
    restart_server: float = 0.005
    partition: float = 0.0
    away: float = 0.0
    lag: float = 0.0
    repeat: float = 0.0
    postpone: float = 0.0
    stale: float = 0.0
    upgrade: float = 0.0
    zone: float = 0.0
    most: int = 4
    swarm: bool = True

    def __post_init__(self) -> None:
        for name in RATES:
            if not 0 <= getattr(self, name) <= 1:
                raise FaultsError(f"the rate of {name} is from 0 to 1, not {getattr(self, name)}")
        if self.most < 0:
            raise FaultsError(f"most is how many faults a run has: zero or more, not {self.most}")

    @classmethod
    def only(cls, *, most: int = 4, swarm: bool = False, **rates: float) -> Faults:
        """
        Faults with these rates, and zero for all other kinds.

        :raises FaultsError: if a name is not known, or a rate is not from 0 to 1
        """
        unknown = sorted(rates.keys() - set(RATES))
        if unknown:
            raise FaultsError(f"there is no fault {unknown[0]!r}: there are {', '.join(RATES)}")
        return cls(**(dict.fromkeys(RATES, 0.0) | rates), most=most, swarm=swarm)

    def spread(self, counts: Mapping[Hashable, int], expected: float = 2.0) -> Faults:
        """
        Scale the rates to the length of a scenario, so that a run has about `expected` faults.

        Otherwise a short run would often have no fault, and a long run would have all its faults at the beginning.

        :param counts: the injector's counts in a run without faults
        :param expected: the number of faults in a run, on average
        """
        points: Counter[str] = Counter()
        for key, count in counts.items():
            if isinstance(key, tuple):
                points[key[0]] += count
        usual = sum(getattr(self, name) * points[point] for name, places in _PLACES.items() for point in places)
        if self.swarm:
            usual /= 2
        if not usual:
            return self
        rates = {name: min(getattr(self, name) * expected / usual, 0.5) for name in RATES}
        return replace(self, **rates)


RATES = tuple(entry.name for entry in fields(Faults) if entry.name not in ("most", "swarm"))
"""The names of all kinds of faults."""

# The points of the injector at which each kind can happen.
_PLACES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("crash", "restart", "pause", "jump", "split", "partition", "upgrade", "zone"), ("write",)),
    "conflict": ("try",),
    **dict.fromkeys(("cut", "refuse"), ("request",)),
    "delay": ("request", "event"),
    **dict.fromkeys(("hide", "silent", "repeat", "postpone", "stale"), ("event",)),
    "restart_server": ("change",),
    **dict.fromkeys(("away", "lag"), ("user",)),
}
_LATER = frozenset({"partition", "away", "lag", "repeat", "postpone", "stale", "upgrade", "zone"})
_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


def moment_of(deviation: Deviation) -> Hashable:
    """The point at which a deviation happens. Only one deviation of a kind can happen at one point."""
    match deviation:
        case Crash() | Restart() | Pause() | Jump() | Split() | Partition() | Upgrade() | Zone():
            return "write", deviation.actor, deviation.write
        case Conflict():
            return "try", deviation.actor, deviation.write
        case Cut() | Refuse() | Delay(event=0):
            return "request", deviation.actor, deviation.request
        case Delay():
            return "event", deviation.actor, deviation.event
        case Hide() | Repeat() | Postpone():
            return "object", deviation.actor, deviation.object, deviation.event
        case Silent() | Stale():
            return "resource", deviation.actor, deviation.resource, deviation.event
        case Away() | Lag():
            return "user", deviation.before, deviation.actor
        case RestartServer():
            return "change", deviation.change


#: Returns another plan at a point with these moments, or None: see :mod:`kinformer.simulation.forks`.
Fork: TypeAlias = Callable[[Sequence[Hashable]], Plan | None]


@dataclass(eq=False)
class Injector:
    """
    Decides what goes wrong in one run.

    Call its methods only for processes that may be disturbed, not for other users of the API.

    :param plan: the deviations that always happen, without a random draw
    :param faults: the rates of further faults; None for no others
    :param fork: asked at each point for the plan with which the run goes on; see :data:`Fork`
    """

    plan: Plan
    faults: Faults | None = None
    fork: Fork | None = None
    happened: list[Deviation] = field(default_factory=list, init=False)
    """All deviations so far, in the order in which they happened."""
    counts: Counter[Hashable] = field(default_factory=Counter, init=False)
    _planned: dict[Hashable, list[Deviation]] = field(default_factory=dict, init=False)
    _rates: dict[str, float] = field(default_factory=dict, init=False)
    _left: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._take(self.plan)
        self._random = random.Random(f"faults {self.plan.seed}")
        if self.faults is not None:
            self._left = self.faults.most
            rates = {name: getattr(self.faults, name) for name in RATES}
            if self.faults.swarm:
                # Kinds that were added to the class later draw only if they have a rate. So seeds keep their meaning.
                kinds = [name for name, rate in rates.items() if rate > 0 or name not in _LATER]
                rates = {name: rates[name] for name in kinds if self._random.random() < 0.5}
            self._rates = {name: rate for name, rate in rates.items() if rate > 0}

    def _take(self, plan: Plan) -> None:
        self.plan = plan
        for deviation in plan.deviations:
            self._planned.setdefault(moment_of(deviation), []).append(deviation)

    @property
    def plan_as_it_happened(self) -> Plan:
        """The plan that does the same without rates. It has only those deviations that happened."""
        return Plan(self.plan.seed, tuple(self.happened))

    @property
    def is_over(self) -> bool:
        """Whether no fault can happen any more: those of the plan have happened, and no random fault is left."""
        return not self._planned and not self._draws

    def stop(self) -> None:
        """End all faults: none happens from now on."""
        self._planned.clear()
        self._left = 0

    @property
    def _draws(self) -> bool:
        """Whether a random fault may happen."""
        return bool(self._rates and self._left)

    def before_write(self, actor: str) -> tuple[Deviation, ...]:
        """The deviations just before the server does a write of this process."""
        number = self._count("try", actor)
        return self._at((("try", actor, number),), {"conflict": lambda: Conflict(actor, number)})

    def after_write(self, actor: str) -> tuple[Deviation, ...]:
        """The deviations when a write of this process is in the storage, and its response is not sent yet."""
        number = self._count("write", actor)
        moments, draw = (("write", actor, number),), self._random
        if not self._draws:
            return self._at(moments, {})
        return self._at(
            moments,
            {
                "crash": lambda: Crash(actor, number, draw.choice(("delivered", "lost"))),
                "restart": lambda: Restart(actor, number, -draw.randint(1, max(1, self.counts["change",]))),
                "pause": lambda: Pause(actor, number, draw.choice((5.0, 20.0, 60.0, 300.0))),
                "jump": lambda: Jump(actor, number, draw.choice((-3600.0, -30.0, 30.0, 3600.0))),
                "split": lambda: Split(actor, number, draw.choice((20.0, 60.0))),
                "partition": lambda: Partition(actor, number, draw.choice((5.0, 20.0, 60.0))),
                "upgrade": lambda: Upgrade(actor, number),
                "zone": lambda: Zone(actor, number, draw.choice((1.0, 5.0, 12.0))),
            },
        )

    def before_user_write(self, actors: Sequence[str]) -> tuple[Deviation, ...]:
        """
        The deviations just before the server does a write of the user.

        :param actors: the processes that may be disturbed
        """
        number = self._count("user")
        draw = self._random
        return self._at(
            tuple(("user", number, actor) for actor in actors),
            {
                "away": lambda: Away(draw.choice(actors), number, draw.choice((1, 2, 3))),
                "lag": lambda: Lag(draw.choice(actors), number, draw.choice((1, 2, 3))),
            }
            if actors
            else {},
        )

    def request(self, actor: str, verb: str) -> tuple[Deviation, ...]:
        """
        The deviations at a request of this process.

        :param verb: one of the API's verbs: get, list, watch, create, update, patch, delete, deletecollection
        """
        number = self._count("request", actor)
        moments, draw = (("request", actor, number),), self._random
        if not self._draws:
            return self._at(moments, {})

        def cut() -> Deviation:
            if verb in _WRITES:
                return Cut(actor, number, draw.choice(("before", "after_write")))
            if verb == "watch":
                return Cut(actor, number, "in_line", draw.randint(0, 5))
            return Cut(actor, number, draw.choice(("before", "in_line")))

        def refuse() -> Deviation:
            code = draw.choice((410, 429, 500, 503) if verb in ("list", "watch") else (429, 500, 503))
            return Refuse(actor, number, code, draw.choice((1, 5)) if code == 429 else 0)

        def delay() -> Deviation:
            return Delay(actor, request=number, seconds=draw.choice((0.2, 1.0, 5.0, 20.0)))

        return self._at(moments, {"cut": cut, "refuse": refuse, "delay": delay})

    def event(self, actor: str, name: str) -> tuple[Deviation, ...]:
        """
        The deviations before an event of a watch is sent to this process.

        :param name: the object, with its resource before the first slash: ``pods/default/web-0``
        """
        resource = name.partition("/")[0]
        number = self._count("event", actor)
        of_object = self._count("object", actor, name)
        of_resource = self._count("resource", actor, resource)
        moments = (
            ("event", actor, number),
            ("object", actor, name, of_object),
            ("resource", actor, resource, of_resource),
        )
        draw = self._random
        if not self._draws:
            return self._at(moments, {})
        return self._at(
            moments,
            {
                "hide": lambda: Hide(actor, name, of_object),
                "delay": lambda: Delay(actor, event=number, seconds=draw.choice((0.2, 1.0, 5.0, 20.0))),
                "silent": lambda: Silent(actor, resource, of_resource, draw.choice((10.0, 60.0, 300.0))),
                "repeat": lambda: Repeat(actor, name, of_object, draw.choice((0.001, 1.0, 10.0))),
                "postpone": lambda: Postpone(actor, name, of_object, draw.choice((1.0, 10.0))),
                "stale": lambda: Stale(actor, resource, of_resource, -draw.randint(1, 5)),
            },
        )

    def change(self) -> tuple[Deviation, ...]:
        """The deviations after a change in the storage, by any writer."""
        number = self._count("change")
        draw = self._random
        return self._at(
            (("change", number),),
            {"restart_server": lambda: RestartServer(number, draw.choice(("kept", "gone")))},
        )

    def _count(self, *what: str) -> int:
        self.counts[what] += 1
        return self.counts[what]

    def _at(self, moments: tuple[Hashable, ...], kinds: dict[str, Callable[[], Deviation]]) -> tuple[Deviation, ...]:
        """The deviations at a point: all that the plan has for it. If it has none, at most one random fault."""
        found: tuple[Deviation, ...] = ()
        if self.fork is not None and (plan := self.fork(moments)) is not None:
            self.fork = None
            self._take(plan)
        if self._planned:
            found = tuple(d for moment in moments for d in self._planned.pop(moment, ()))
        if not found and self._draws:
            for name, make in kinds.items():
                rate = self._rates.get(name)
                if rate is not None and self._random.random() < rate:
                    self._left -= 1
                    found = (make(),)
                    break
        self.happened += found
        return found
