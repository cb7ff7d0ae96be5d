"""The base of oracles: an oracle gets the records of a run as they happen, and is asked at the end what was wrong.

An oracle does not know the world. It gets records, the state of the server's storage, and how the run ended. So each
oracle can be tested with a history that is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias

from kinformer.simulation.history import Record
from kinformer.simulation.oracles.normal import Normal

__all__ = ("Ending", "Invariant", "Oracle", "Reference", "State", "Store", "Violation")


class State(Protocol):
    """The present state of the server's storage, read-only."""

    def get(self, name: str, /) -> Mapping[str, Any] | None:
        """The object with this name: ``pods/default/web-0``."""
        ...

    def objects(self) -> Mapping[str, Mapping[str, Any]]:
        """All objects by their names."""
        ...


Invariant: TypeAlias = Callable[[Any], object]
"""A user's condition: a function of the state. It is broken if it returns False or raises an error, whose text is the
explanation."""


@dataclass(frozen=True, slots=True)
class Violation:
    """
    A broken rule.

    :param oracle: the name of the oracle that found it
    :param text: what is wrong, in one line
    :param records: the numbers of the records that show it
    """

    oracle: str
    text: str
    records: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.oracle}: {self.text}"


@dataclass(frozen=True, slots=True)
class Store:
    """
    What an informer has at the end of a run, and what the server would list for it.

    :param actor: the process of the informer
    :param informer: its name for a person: the resource, and selectors if there are any
    :param held: the versions of the objects in its store, by name
    :param served: the versions of the objects that a list with its selectors returns now, by name
    """

    actor: str
    informer: str
    held: Mapping[str, int]
    served: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Ending:
    """
    How a run ended.

    :param time: the seconds of virtual time since it began
    :param state: the state of the storage
    :param settled: whether the world settled; False if the run was ended at its time limit
    :param stores: the stores of the processes that are alive
    :param tasks: the names of tasks that were left
    :param exceptions: unhandled exceptions, each with its type and text in one line
    """

    time: float
    state: State
    settled: bool = True
    stores: Sequence[Store] = ()
    tasks: Sequence[str] = ()
    exceptions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """
    The data of the run without deviations, with which other runs are compared.

    :param state: the normal form of the state at the end
    :param made: how often each object was created, by name; objects with generated names share a name
    :param removed: how often each object was deleted, by name
    """

    state: Normal
    made: Mapping[str, int] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)


class Oracle:
    """
    A rule that must hold in every run.

    :cvar name: its name in reports and options
    :cvar listens: the kinds of records that it gets
    """

    name: ClassVar[str]
    listens: ClassVar[Collection[str]] = ()

    def record(self, record: Record, state: State) -> Iterable[Violation]:
        """Look at a record; returns the violations that it shows."""
        return ()

    def finish(self, ending: Ending) -> Iterable[Violation]:
        """Check the end of the run; returns the violations."""
        return ()

    def violation(self, text: str, *records: int) -> Violation:
        return Violation(self.name, text, records)
