"""Plans: one line with the seed of a simulated run, and with what goes wrong in it.

``seed=17 crash(manager,write=3,lost) hide(manager,pods/default/web-0,event=2)`` is such a line. :meth:`Plan.parse`
reads it, and ``str(plan)`` writes it. A failure prints its line, and nothing else is needed to play the run again.

A deviation is one thing that goes wrong once. It names its moment by a count that does not depend on time: the third
write of a process, the second event of an object. So it still happens at the same place when other deviations are
removed from the plan. All counts begin at one, and go on when a process is started again.

This module does no I/O and does not depend on the world in which plans are played.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args, get_type_hints
from urllib.parse import quote, unquote

__all__ = (
    "DEVIATIONS",
    "Away",
    "Conflict",
    "Crash",
    "Cut",
    "Delay",
    "Deviation",
    "Hide",
    "Jump",
    "Lag",
    "Partition",
    "Pause",
    "Plan",
    "PlanError",
    "Postpone",
    "Refuse",
    "Repeat",
    "Restart",
    "RestartServer",
    "Silent",
    "Split",
    "Stale",
    "Upgrade",
)


class PlanError(ValueError):
    """A plan cannot be read, or has an impossible value. The text names the wrong word."""


@dataclass(frozen=True, slots=True)
class _Deviation:
    """The base of all deviations: it reads and writes the text form, by the fields of the class."""

    def __post_init__(self) -> None:
        for field, kind in _fields_of(type(self)):
            _check(field, kind, getattr(self, field.name), type(self).__name__.lower())

    def __str__(self) -> str:
        words = []
        for field, kind in _fields_of(type(self)):
            value = getattr(self, field.name)
            if field.default is not MISSING and value == field.default:
                continue
            if kind is str or get_args(kind):
                words.append(quote(value, safe="/:._-~@+"))
            else:
                words.append(f"{field.name}={_number(value)}")
        return f"{type(self).__name__.lower()}({','.join(words)})"

    @classmethod
    def of(cls, words: list[str]) -> Self:
        """
        Make a deviation from the words of its text.

        A number is written as ``field=number``. A choice is known by its value, a name by its place.

        :raises PlanError: if a word is wrong, or a field is missing
        """
        text = f"{cls.__name__.lower()}({','.join(words)})"
        kinds = {field.name: kind for field, kind in _fields_of(cls)}
        values: dict[str, Any] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                name, value = _place(word, kinds, values, text), word
            if name not in kinds:
                raise PlanError(f"{text} has no {name!r}: it takes {', '.join(kinds)}")
            if name in values:
                raise PlanError(f"{text} names {name} twice")
            values[name] = _value(value, kinds[name], f"{name} of {text}")
        missing = [f.name for f, _ in _fields_of(cls) if f.name not in values and f.default is MISSING]
        if missing:
            raise PlanError(f"{text} lacks {', '.join(missing)}")
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Crash(_Deviation):
    """
    The process is killed after its n-th write. The write is in the server's storage; a new process starts later.

    :param actor: the name of the process, here and in all deviations
    :param write: the number of the write, from 1
    :param answer: ``delivered`` if the process still gets the response and acts on it, up to its next request
    """

    actor: str
    write: int
    answer: Literal["delivered", "lost"] = "delivered"


@dataclass(frozen=True, slots=True)
class Restart(_Deviation):
    """
    The process is killed after its n-th write, and starts again on a replica of the server that is behind.

    Sieve calls it time travel. Lists and watches get the older version; writes are done on the newest one.

    :param write: the number of the write, from 1
    :param version: how many changes the replica is behind, as a negative number
    :param seconds: the time until the replica catches up
    """

    actor: str
    write: int
    version: int
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Hide(_Deviation):
    """
    The n-th event of one object never reaches the process. Sieve calls it an observability gap.

    The next event of the object does reach it, as if there had been a list in between. So a level-triggered controller
    must work with this. If there is no next event in time, the process has to list again and sees the change late: a
    real server does not keep back the last event for ever. Real servers have dropped events (etcd#18089), among them
    deletions (etcd#19179).

    :param object: resource, namespace and name: ``pods/default/web-0``, ``deployments.apps/default/web``, ``nodes/n1``
    :param event: the number of the object's event, from 1
    :param seconds: how long to wait for the next event
    """

    actor: str
    object: str
    event: int
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Cut(_Deviation):
    """
    The connection of the n-th request breaks.

    :param request: the number of the request, from 1
    :param where: ``before`` the server sees the request, ``after_write``: after the server has done it and before the
        response, or ``in_line``: in the middle of a line of the response
    :param event: for a watch: after how many of its events
    """

    actor: str
    request: int
    where: Literal["before", "after_write", "in_line"] = "before"
    event: int = 0


@dataclass(frozen=True, slots=True)
class Refuse(_Deviation):
    """
    The server refuses the n-th request, and does not act on it.

    :param request: the number of the request, from 1
    :param code: the HTTP status: 410, 429 or one of 500 to 599
    :param retry_after: the seconds in the response's ``Retry-After``; zero leaves the header out
    """

    actor: str
    request: int
    code: int = 500
    retry_after: int = 0

    def __post_init__(self) -> None:
        # super() without arguments does not work in a dataclass with slots.
        _Deviation.__post_init__(self)
        if self.code not in (410, 429) and not 500 <= self.code <= 599:
            raise PlanError(f"refuse: the code is 410, 429 or 500 to 599, not {self.code}")


@dataclass(frozen=True, slots=True)
class Delay(_Deviation):
    """
    The n-th request of the process, or the n-th event of all its watches, is late.

    :param request: the number of the request, from 1; zero if an event is late
    :param event: the number of the event, from 1; zero if a request is late
    :param seconds: by how much it is late
    """

    actor: str
    request: int = 0
    event: int = 0
    seconds: float = 1.0

    def __post_init__(self) -> None:
        _Deviation.__post_init__(self)
        if bool(self.request) == bool(self.event):
            raise PlanError("delay: name either a request or an event")


@dataclass(frozen=True, slots=True)
class Silent(_Deviation):
    """
    Before the n-th event of a resource, its watches send nothing for some time. The connections stay open.

    :param resource: plural and group: ``pods``, ``deployments.apps``
    :param event: the number of the resource's event, from 1
    :param seconds: how long nothing is sent
    """

    actor: str
    resource: str
    event: int
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Pause(_Deviation):
    """The process is stopped after its n-th write, as by SIGSTOP, and goes on some seconds later."""

    actor: str
    write: int
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Jump(_Deviation):
    """The wall clock of the process jumps after its n-th write: forward, or back if `seconds` is negative."""

    actor: str
    write: int
    seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Conflict(_Deviation):
    """
    Just before the process tries to write for the n-th time, another writer changes the object. So the version that the
    process knows is old.

    Here `write` counts all tries, also those that fail. In other deviations it counts writes that are in the storage.
    """

    actor: str
    write: int


@dataclass(frozen=True, slots=True)
class Split(_Deviation):
    """After its n-th write the process cannot renew its Lease, and for some seconds it believes that it still leads."""

    actor: str
    write: int
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Partition(_Deviation):
    """After its n-th write the process has no network for some seconds. Its connections break."""

    actor: str
    write: int
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Away(_Deviation):
    """
    The process is killed just before the user's n-th write, and starts again only after that.

    So it sees no event of what the user does meanwhile. What it needs to know has to be in the objects: a controller
    that cleans up when it is told of a deletion, and has no finalizer, never cleans up.

    :param before: the number of the user's write, from 1
    :param back: after how many writes of the user it starts again; two may be a deletion and a new object of that name
    :param seconds: after this time it starts again in any case
    """

    actor: str
    before: int
    back: int = 1
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Lag(_Deviation):
    """
    From just before the user's n-th write, the watches of the process send nothing. After some writes it has to list.

    So with `back=2` the user may delete an object and create a new one with the same name, and the process sees one
    update with another uid. Meanwhile it works with its old cache.

    :param before: the number of the user's write, from 1
    :param back: after how many writes of the user it lists again
    :param seconds: after this time it lists again in any case
    """

    actor: str
    before: int
    back: int = 2
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Repeat(_Deviation):
    """
    The n-th event of one object is sent a second time, some seconds later. Real servers have done so (etcd#17247).

    By then, the object may have changed, or be gone.

    :param object: resource, namespace and name
    :param event: the number of the object's event, from 1
    """

    actor: str
    object: str
    event: int
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Postpone(_Deviation):
    """
    The n-th event of one object comes late: after later events, and after a bookmark that says that it has been sent.

    Real servers have sent older revisions after a progress notice (etcd#20221).

    :param object: resource, namespace and name
    :param event: the number of the object's event, from 1
    """

    actor: str
    object: str
    event: int
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Stale(_Deviation):
    """
    At the n-th event of a resource its watches get 410, and the list that follows comes from a replica that is behind.

    The list is older than what the process has seen, also if it asks for no older one (kubernetes#59848).

    :param resource: plural and group: ``pods``, ``deployments.apps``
    :param event: the number of the resource's event, from 1
    :param version: how many changes the list is behind, as a negative number
    """

    actor: str
    resource: str
    event: int
    version: int = -1


@dataclass(frozen=True, slots=True)
class Upgrade(_Deviation):
    """
    The process is killed after its n-th write, and starts again with the next version of its controllers.

    It has an effect only on a process that has a next version.
    """

    actor: str
    write: int


@dataclass(frozen=True, slots=True)
class Zone(_Deviation):
    """
    The process is killed after its n-th write, and starts again on a machine in another time zone.

    What it wrote down in local time, and without the zone, means another time now.

    :param hours: how many hours the local time is ahead of UTC; it was UTC before
    """

    actor: str
    write: int
    hours: float = 5.0


@dataclass(frozen=True, slots=True)
class RestartServer(_Deviation):
    """
    The API server starts again after the n-th change in its storage. All connections break.

    :param change: the number of the change, from 1
    :param history: ``kept`` if watches can go on where they were, ``gone`` if they get 410 and have to list again
    """

    change: int
    history: Literal["kept", "gone"] = "gone"


Deviation: TypeAlias = (
    Crash
    | Restart
    | Hide
    | Cut
    | Refuse
    | Delay
    | Silent
    | Pause
    | Jump
    | Conflict
    | Split
    | Partition
    | Away
    | Lag
    | Repeat
    | Postpone
    | Stale
    | Upgrade
    | Zone
    | RestartServer
)

DEVIATIONS: Mapping[str, type[Deviation]] = MappingProxyType(
    {kind.__name__.lower(): kind for kind in get_args(Deviation)}
)
"""The deviations by the first word of their text."""

_WORD = re.compile(r"([A-Za-z]+)\(([^()\s]*)\)")
# Counts that are optional; zero means none.
_OPTIONAL_COUNTS = frozenset({(Cut, "event"), (Delay, "request"), (Delay, "event"), (Refuse, "retry_after")})


@dataclass(frozen=True, slots=True)
class Plan:
    """
    A seed and deviations. With the scenario, they decide all that happens in a simulated run.

    :param seed: from 0 to :attr:`HIGHEST_SEED`; the order of ready tasks, the latencies and all random numbers are
        drawn from it
    :param deviations: what goes wrong
    :raises PlanError: if the seed is not in that range
    """

    seed: int = 0
    deviations: tuple[Deviation, ...] = ()

    HIGHEST_SEED: ClassVar[int] = 2**64 - 1

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= self.HIGHEST_SEED:
            raise PlanError(f"a seed is a whole number from 0 to 2**64-1, not {self.seed}")

    def __str__(self) -> str:
        return " ".join((f"seed={self.seed}", *map(str, self.deviations)))

    def without(self, *deviations: Deviation) -> Plan:
        """This plan without these deviations."""
        return Plan(self.seed, tuple(d for d in self.deviations if d not in deviations))

    @classmethod
    def parse(cls, line: str) -> Plan:
        """
        Read a plan from its line.

        :raises PlanError: if a word cannot be read, or there is no seed
        """
        seed: int | None = None
        deviations: list[Deviation] = []
        for word in line.split():
            if match := _WORD.fullmatch(word):
                deviations.append(_deviation(*match.groups()))
            elif not word.startswith("seed="):
                raise PlanError(f"{word!r} is neither seed=N nor a deviation like crash(manager,write=3)")
            elif seed is not None:
                raise PlanError(f"a plan has one seed, not also {word!r}")
            else:
                seed = _value(word.removeprefix("seed="), int, "the seed")
        if seed is None:
            raise PlanError("the plan has no seed: it begins with seed=N")
        return cls(seed, tuple(deviations))


def _deviation(kind: str, inside: str) -> Deviation:
    found = DEVIATIONS.get(kind.lower())
    if found is None:
        raise PlanError(f"there is no deviation {kind!r}: there are {', '.join(DEVIATIONS)}")
    return found.of(inside.split(",") if inside else [])


_FIELDS: dict[type[_Deviation], tuple[tuple[Field[Any], Any], ...]] = {}


def _fields_of(cls: type[_Deviation]) -> tuple[tuple[Field[Any], Any], ...]:
    """The fields with their types. They are found out once for each class."""
    if (found := _FIELDS.get(cls)) is None:
        hints = get_type_hints(cls)
        found = _FIELDS[cls] = tuple((field, hints[field.name]) for field in fields(cls))
    return found


def _place(word: str, kinds: dict[str, Any], taken: dict[str, Any], text: str) -> str:
    """The field of a word without a name: the choice that has this value, or the next field for a name."""
    for name, kind in kinds.items():
        if name not in taken and (kind is str or word in get_args(kind)):
            return name
    choices = [choice for kind in kinds.values() for choice in get_args(kind)]
    hint = f" (one of {', '.join(choices)})" if choices else ""
    raise PlanError(f"{text}: {word!r} has no name; write field=value{hint}")


def _value(text: str, kind: Any, what: str) -> Any:
    if kind is str or get_args(kind):
        return unquote(text)
    try:
        # int() and float() also take spaces, underscores and digits of other alphabets. Plans do not have these.
        if not text.isascii() or "_" in text:
            raise ValueError
        return kind(text)
    except ValueError:
        raise PlanError(f"{what} is {'a whole number' if kind is int else 'a number'}, not {text!r}") from None


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _check(field: Field[Any], kind: Any, value: Any, what: str) -> None:
    """:raises PlanError: if the field cannot have this value"""
    name = field.name
    if choices := get_args(kind):
        if value not in choices:
            raise PlanError(f"{what}: {name} is one of {', '.join(choices)}, not {value!r}")
    elif kind is str:
        if not value:
            raise PlanError(f"{what}: {name} must not be empty")
    elif kind is float:
        if not math.isfinite(value) or (value <= 0 and what != "jump"):
            raise PlanError(f"{what}: {name} must be a number above zero, not {value}")
    elif name == "version":
        if value >= 0:
            raise PlanError(f"{what}: version says how many changes the replica is behind: -1, -2, …, not {value}")
    elif value < 1 and not (value == 0 and (DEVIATIONS[what], name) in _OPTIONAL_COUNTS):
        raise PlanError(f"{what}: {name} is counted from 1, not {value}")
