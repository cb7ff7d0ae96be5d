"""The history of a simulated run: what each actor saw and did, in one order.

The world appends a :class:`Record` for each thing that happens; oracles are given each record as it is appended, and
timelines are drawn from all of them. Two runs are the same run if their digests are equal. So nothing that differs from
process to process may get into a record: no addresses, no order of sets, no time of the machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, get_args

__all__ = ("WHATS", "History", "Record", "What")

What: TypeAlias = Literal[
    "start",  # a process began to run; object: the Lease of its group; detail: the server, if that is a replica
    "ended",  # a process ended by itself; detail: why
    "killed",
    "paused",
    "resumed",
    "request",  # the server got a request; detail: verb and query
    "answer",  # the server has answered it; detail: the status
    "write",  # a change is in the storage; detail: ADDED, MODIFIED or DELETED
    "event",  # a handler was told; detail: add, update or delete, and which handler
    "sync",  # a sync of the key in `object` began; detail: the controller
    "synced",  # it ended; detail: the controller, and the error if there was one
    "barred",  # it can write no more in a sync; told when it, or another one of its group, begins the same sync
    "fault",  # a deviation; detail: its text in a plan
    "note",
]
"""What can be told of in a record."""

WHATS: frozenset[str] = frozenset(get_args(What))


class Record(NamedTuple):
    """
    One thing that happened.

    :param number: its place in the history, from zero
    :param time: seconds of virtual time since the run began
    :param actor: the process that did or saw it; ``user`` for the scenario, ``server`` for the server's own loops
    :param object: resource, namespace and name: ``pods/default/web-0``; a key for syncs
    :param version: the object's resourceVersion as a number counted from the run's beginning; 0 for none
    """

    number: int
    time: float
    actor: str
    what: What
    object: str = ""
    version: int = 0
    detail: str = ""

    def __str__(self) -> str:
        version = f" @{self.version}" if self.version else ""
        words = (f"{self.number:>5} {self.time:10.4f} {self.actor:<12} {self.what:<8}", self.object + version)
        return " ".join(filter(None, (*words, self.detail)))


@dataclass(eq=False)
class History:
    """
    The records of a run.

    :ivar listeners: called with each record, right after it was appended
    """

    records: list[Record] = field(default_factory=list)
    listeners: list[Callable[[Record], object]] = field(default_factory=list)

    def append(self, time: float, actor: str, what: What, name: str = "", version: int = 0, detail: str = "") -> Record:
        """
        Add a record, and tell the listeners of it.

        :param name: of the object
        """
        record = Record(len(self.records), time, actor, what, name, version, detail)
        self.records.append(record)
        for listener in self.listeners:
            listener(record)
        return record

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, number: int) -> Record:
        return self.records[number]

    def lines(self) -> Iterator[str]:
        """The history as text, a line for each record."""
        return map(str, self.records)

    def digest(self) -> str:
        """The SHA-256 of the lines, in hexadecimal digits: equal for two runs that are the same run."""
        sum_ = hashlib.sha256()
        for line in self.lines():
            sum_.update(line.encode())
            sum_.update(b"\n")
        return sum_.hexdigest()
