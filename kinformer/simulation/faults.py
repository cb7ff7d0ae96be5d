"""The fault injector: asked at each point of a run what goes wrong there.

Points of a run go in: a write is done, a request comes, an event is about to reach a process. Deviations come out. They
are those that the plan names for this point, and those that a seeded dice throws by the rates of :class:`Faults`. All
that happened is noted: :attr:`Injector.happened` is a plan that does the same without rates.

The injector keeps the counts by which plans name their moments. It draws from a generator of its own, so that a plan
without rates leaves all other draws of the run as they were.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace

from kinformer.simulation.plan import (
    Conflict,
    Crash,
    Cut,
    Delay,
    Deviation,
    Hide,
    Jump,
    Partition,
    Pause,
    Plan,
    Refuse,
    Restart,
    RestartServer,
    Silent,
    Split,
)

__all__ = ("Faults", "FaultsError", "Injector", "moment_of")


class FaultsError(ValueError):
    """There is no such fault, or its rate is not one. The text names it."""


@dataclass(frozen=True, slots=True)
class Faults:
    """
    How often what goes wrong, as a probability at each point where it could.

    :param crash: after a write
    :param restart: after a write; the process comes back on a server that is behind
    :param pause: after a write
    :param jump: after a write. Zero, since a controller that waits for a time may rightly end elsewhere
    :param split: after a write; has an effect only on a process that elects leaders
    :param conflict: before a write
    :param cut: at a request
    :param refuse: at a request
    :param delay: at a request, and at an event
    :param hide: at an event
    :param silent: at an event
    :param restart_server: after a change
    :param partition: after a write. Zero: a process that elects no leader has no more to fear from it than from cuts
    :param most: so many faults in a run. Then nothing goes wrong any more, and what runs has to settle
    :param swarm: whether each seed leaves out about half of the kinds. Runs differ more from one another that way
        (Groce et al., "Swarm testing", ISSTA 2012)
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
        These rates, and none of the others.

        :raises FaultsError: if there is no fault of such a name
        """
        unknown = sorted(rates.keys() - set(RATES))
        if unknown:
            raise FaultsError(f"there is no fault {unknown[0]!r}: there are {', '.join(RATES)}")
        return cls(**(dict.fromkeys(RATES, 0.0) | rates), most=most, swarm=swarm)

    def spread(self, counts: Mapping[Hashable, int], expected: float = 2.0) -> Faults:
        """
        These faults with rates that fit a scenario: so many in a run, however short or long it is.

        A short run would have none most of the time, and a long one would have all of them at its beginning.

        :param counts: what the injector has counted in a run without faults
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
"""The faults that have a rate, by name."""

# At which of the injector's points a rate is for.
_PLACES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("crash", "restart", "pause", "jump", "split", "partition"), ("write",)),
    "conflict": ("try",),
    **dict.fromkeys(("cut", "refuse"), ("request",)),
    "delay": ("request", "event"),
    **dict.fromkeys(("hide", "silent"), ("event",)),
    "restart_server": ("change",),
}
_LATER = frozenset({"partition"})
_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


def moment_of(deviation: Deviation) -> Hashable:
    """The point at which a deviation happens. Two of one kind with the same moment exclude each other."""
    match deviation:
        case Crash() | Restart() | Pause() | Jump() | Split() | Partition():
            return "write", deviation.actor, deviation.write
        case Conflict():
            return "try", deviation.actor, deviation.write
        case Cut() | Refuse() | Delay(event=0):
            return "request", deviation.actor, deviation.request
        case Delay():
            return "event", deviation.actor, deviation.event
        case Hide():
            return "object", deviation.actor, deviation.object, deviation.event
        case Silent():
            return "resource", deviation.actor, deviation.resource, deviation.event
        case RestartServer():
            return "change", deviation.change


@dataclass(eq=False)
class Injector:
    """
    What goes wrong in one run.

    Ask for processes that may be disturbed only: users of the API who are not under test are not.

    :param plan: what goes wrong in any case
    :param faults: rates of what may go wrong besides
    """

    plan: Plan
    faults: Faults | None = None
    happened: list[Deviation] = field(default_factory=list, init=False)
    """Everything that went wrong, in this order."""
    counts: Counter[Hashable] = field(default_factory=Counter, init=False)
    _planned: dict[Hashable, list[Deviation]] = field(default_factory=dict, init=False)
    _rates: dict[str, float] = field(default_factory=dict, init=False)
    _left: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for deviation in self.plan.deviations:
            self._planned.setdefault(moment_of(deviation), []).append(deviation)
        self._random = random.Random(f"faults {self.plan.seed}")
        if self.faults is not None:
            self._left = self.faults.most
            rates = {name: getattr(self.faults, name) for name in RATES}
            if self.faults.swarm:
                # What came later than the others draws only where it is wanted: seeds go on meaning what they meant.
                kinds = [name for name, rate in rates.items() if rate > 0 or name not in _LATER]
                rates = {name: rates[name] for name in kinds if self._random.random() < 0.5}
            self._rates = {name: rate for name, rate in rates.items() if rate > 0}

    @property
    def plan_as_it_happened(self) -> Plan:
        """The plan that does the same without rates. What was planned and did not happen is not in it."""
        return Plan(self.plan.seed, tuple(self.happened))

    @property
    def is_over(self) -> bool:
        """Whether nothing can go wrong any more: all that was planned has happened, and no rate is left."""
        return not self._planned and not (self._rates and self._left)

    def stop(self) -> None:
        """Let nothing go wrong any more."""
        self._planned.clear()
        self._left = 0

    def before_write(self, actor: str) -> tuple[Deviation, ...]:
        """The server is about to carry out a write of this process."""
        number = self._count("try", actor)
        return self._at((("try", actor, number),), {"conflict": lambda: Conflict(actor, number)})

    def after_write(self, actor: str) -> tuple[Deviation, ...]:
        """A write of this process is in the storage, and its answer is not yet on the way."""
        number = self._count("write", actor)
        draw = self._random
        return self._at(
            (("write", actor, number),),
            {
                "crash": lambda: Crash(actor, number, draw.choice(("delivered", "lost"))),
                "restart": lambda: Restart(actor, number, -draw.randint(1, max(1, self.counts["change",]))),
                "pause": lambda: Pause(actor, number, draw.choice((5.0, 20.0, 60.0, 300.0))),
                "jump": lambda: Jump(actor, number, draw.choice((-3600.0, -30.0, 30.0, 3600.0))),
                "split": lambda: Split(actor, number, draw.choice((20.0, 60.0))),
                "partition": lambda: Partition(actor, number, draw.choice((5.0, 20.0, 60.0))),
            },
        )

    def request(self, actor: str, verb: str) -> tuple[Deviation, ...]:
        """
        A request of this process is about to be sent.

        :param verb: one of the API's verbs: get, list, watch, create, update, patch, delete, deletecollection
        """
        number = self._count("request", actor)
        draw = self._random

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

        return self._at((("request", actor, number),), {"cut": cut, "refuse": refuse, "delay": delay})

    def event(self, actor: str, name: str) -> tuple[Deviation, ...]:
        """
        A line of a watch is about to reach this process.

        :param name: the object: ``pods/default/web-0``. What stands before the first slash is the resource
        """
        resource = name.partition("/")[0]
        number = self._count("event", actor)
        of_object = self._count("object", actor, name)
        of_resource = self._count("resource", actor, resource)
        draw = self._random
        return self._at(
            (
                ("event", actor, number),
                ("object", actor, name, of_object),
                ("resource", actor, resource, of_resource),
            ),
            {
                "hide": lambda: Hide(actor, name, of_object),
                "delay": lambda: Delay(actor, event=number, seconds=draw.choice((0.2, 1.0, 5.0, 20.0))),
                "silent": lambda: Silent(actor, resource, of_resource, draw.choice((10.0, 60.0, 300.0))),
            },
        )

    def change(self) -> tuple[Deviation, ...]:
        """Somebody's change is in the storage, whoever it was."""
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
        """What happens at a point: all that is planned, otherwise one at most that is drawn."""
        found: tuple[Deviation, ...] = ()
        if self._planned:
            found = tuple(d for moment in moments for d in self._planned.pop(moment, ()))
        if not found and self._left and self._rates:
            for name, make in kinds.items():
                rate = self._rates.get(name)
                if rate is not None and self._random.random() < rate:
                    self._left -= 1
                    found = (make(),)
                    break
        self.happened += found
        return found
