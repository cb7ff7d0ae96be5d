"""Plans: one line that says which seed a simulated run has, and what goes wrong in it.

A line like ``seed=17 crash(manager,write=3,lost) hide(manager,pods/default/web-0,event=2)`` goes in, a :class:`Plan`
comes out, and the other way round: ``Plan.parse(str(plan)) == plan``. The line is what a failure prints, and all that
is needed to play it again.

A deviation is one thing that goes wrong once. It names its moment by a count that does not depend on the time: the
third write of a process, the second event of an object. So a deviation still hits the same place when others are taken
out of its plan. All counts begin at one, and go on when a process is started again.

This module does no I/O and knows nothing of the world in which plans are played.
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
    "Conflict",
    "Crash",
    "Cut",
    "Delay",
    "Deviation",
    "Hide",
    "Jump",
    "Partition",
    "Pause",
    "Plan",
    "PlanError",
    "Refuse",
    "Restart",
    "RestartServer",
    "Silent",
    "Split",
)


class PlanError(ValueError):
    """A plan cannot be read, or asks for what cannot be. The text names the word."""


@dataclass(frozen=True, slots=True)
class _Deviation:
    """What all deviations share: the text form, made from the fields."""

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
        """The deviation with these words: names and choices by their place or value, numbers as ``field=number``."""
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

    :param answer: whether the process could still read the answer and act on it, up to its next request
    """

    actor: str
    write: int
    answer: Literal["delivered", "lost"] = "delivered"


@dataclass(frozen=True, slots=True)
class Restart(_Deviation):
    """
    The process is killed after its n-th write, and starts again on a replica of the server that is behind.

    Sieve calls it time travel. Lists and watches stand at the older version; writes go to the newest.

    :param version: how many committed changes the replica is behind, as a negative number
    :param seconds: after how long the replica catches up
    """

    actor: str
    write: int
    version: int
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Hide(_Deviation):
    """
    The n-th event of one object never reaches the process. Sieve calls it an observability gap.

    The next event of the object does reach it, as it would if a list came in between. So a level-triggered controller
    has to bear it. If there is no next event in time, the hidden one comes late: no server keeps the last one back.

    :param object: resource, namespace and name: ``pods/default/web-0``, ``deployments.apps/default/web``, ``nodes/n1``
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

    :param where: before the server sees the request, after the server has done it and before the answer, or in the
        middle of a line of the answer
    :param event: for a watch: after how many of its events
    """

    actor: str
    request: int
    where: Literal["before", "after_write", "in_line"] = "before"
    event: int = 0


@dataclass(frozen=True, slots=True)
class Refuse(_Deviation):
    """
    The server refuses the n-th request, and does nothing of it.

    :param code: the HTTP status: 410, 429 or one of 500 to 599
    :param retry_after: seconds in the answer's ``Retry-After``; zero leaves the header out
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
    """The answer of the n-th request, or the n-th event of all watches, comes so many seconds late. One of the two."""

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
    Before the n-th event of a resource, its watches fall silent for so long. The connection stays open.

    :param resource: plural and group: ``pods``, ``deployments.apps``
    """

    actor: str
    resource: str
    event: int
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Pause(_Deviation):
    """The process stands still for so many seconds after its n-th write, and does not notice."""

    actor: str
    write: int
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Jump(_Deviation):
    """The wall clock of the process jumps by so many seconds, forwards or back, after its n-th write."""

    actor: str
    write: int
    seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Conflict(_Deviation):
    """
    Just before the process tries to write for the n-th time, another writer changes the object: its version is old now.

    Tries are counted here, those that fail too. All others count what is in the storage.
    """

    actor: str
    write: int


@dataclass(frozen=True, slots=True)
class Split(_Deviation):
    """After its n-th write the process cannot renew its lease, and believes for so long that it still leads."""

    actor: str
    write: int
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Partition(_Deviation):
    """After its n-th write the process reaches nobody for so long, and nobody reaches it. Its connections break."""

    actor: str
    write: int
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class RestartServer(_Deviation):
    """
    The API server starts again after the n-th change in its storage. All connections break.

    :param history: whether watches can go on where they were, or get 410 and have to list again
    """

    change: int
    history: Literal["kept", "gone"] = "gone"


Deviation: TypeAlias = (
    Crash | Restart | Hide | Cut | Refuse | Delay | Silent | Pause | Jump | Conflict | Split | Partition | RestartServer
)

DEVIATIONS: Mapping[str, type[Deviation]] = MappingProxyType(
    {kind.__name__.lower(): kind for kind in get_args(Deviation)}
)
"""The deviations by the word with which their text begins."""

_WORD = re.compile(r"([A-Za-z]+)\(([^()\s]*)\)")
# Counts that may be left out, with zero in their place.
_OPTIONAL_COUNTS = frozenset({(Cut, "event"), (Delay, "request"), (Delay, "event"), (Refuse, "retry_after")})


@dataclass(frozen=True, slots=True)
class Plan:
    """
    A seed and the deviations: all that decides what happens in a simulated run.

    :param seed: zero or more; draws the order of ready tasks, the latencies and all random numbers
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

        :raises PlanError: with the word that cannot be read
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
    """The fields with their types, which are worked out once for each class."""
    if (found := _FIELDS.get(cls)) is None:
        hints = get_type_hints(cls)
        found = _FIELDS[cls] = tuple((field, hints[field.name]) for field in fields(cls))
    return found


def _place(word: str, kinds: dict[str, Any], taken: dict[str, Any], text: str) -> str:
    """Which field a word without a name is for: the choice that has it, or the next name."""
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
        # int() and float() take more than plans have: spaces, underscores, other alphabets' digits.
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
