"""What an oracle is: it is given the records of a run as they happen, and asked at the end what was wrong.

An oracle knows nothing of the world. It sees records, the state of the server's storage, and how the run ended. So each
can be tried with a history written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias

from kinformer.simulation.history import Record
from kinformer.simulation.oracles.normal import Normal

__all__ = ("Ending", "Invariant", "Oracle", "Reference", "State", "Store", "Violation")


class State(Protocol):
    """What is in the server's storage at the moment. Read only."""

    def get(self, name: str, /) -> Mapping[str, Any] | None:
        """The object with this name: ``pods/default/web-0``."""
        ...

    def objects(self) -> Mapping[str, Mapping[str, Any]]:
        """All objects by their names."""
        ...


Invariant: TypeAlias = Callable[[Any], object]
"""A user's condition, given the state. It is broken if it returns False, or raises; what it raises explains it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """
    Something that must not be.

    :param oracle: which one says so
    :param text: what is wrong, in one line
    :param records: numbers of the records that show it
    """

    oracle: str
    text: str
    records: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.oracle}: {self.text}"


@dataclass(frozen=True, slots=True)
class Store:
    """
    What an informer holds at the end of a run, and what the server would give it.

    :param informer: its name for a person: resource, and selectors if there are any
    :param held: versions of the objects in its store
    :param served: versions of the objects that a list with its selectors has now
    """

    actor: str
    informer: str
    held: Mapping[str, int]
    served: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Ending:
    """
    How a run ended.

    :param time: seconds of virtual time since it began
    :param settled: whether it came to rest, rather than being ended at the limit of its time
    :param stores: of the processes that are alive
    :param tasks: names of tasks that were left behind
    :param exceptions: unhandled ones, each with its type and text in one line
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
    What the run without deviations came to. Plain data, which other processes can be given.

    :param state: its normal form at the end
    :param made: how often each object was created, by name; generated names share one
    :param removed: how often each was deleted
    """

    state: Normal
    made: Mapping[str, int] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)


class Oracle:
    """
    One thing that must hold in every run.

    :cvar name: as it is called in reports and options
    :cvar listens: which records it is given
    """

    name: ClassVar[str]
    listens: ClassVar[Collection[str]] = ()

    def record(self, record: Record, state: State) -> Iterable[Violation]:
        """See something that has happened, and say if it must not."""
        return ()

    def finish(self, ending: Ending) -> Iterable[Violation]:
        """Say what is wrong now that the run is over."""
        return ()

    def violation(self, text: str, *records: int) -> Violation:
        return Violation(self.name, text, records)
