"""The history of a simulated run: what each actor saw and did, in one order.

The world appends a :class:`Record` for each thing that happens. Oracles get each record when it is appended, and
timelines are drawn from all records. Two runs are the same if their digests are equal. So a record must not have
anything that differs between processes: no addresses, no order of sets, no real time.
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
    "answer",  # the server has answered a request; detail: the status
    "write",  # a change is in the storage; detail: ADDED, MODIFIED or DELETED
    "event",  # a handler is called; detail: add, update or delete, and which handler
    "sync",  # a sync of the key in `object` began; detail: the controller
    "synced",  # a sync ended; detail: the controller, and the error if there was one
    "barred",  # it can no longer write in a sync; recorded when it, or another of its group, begins the same sync
    "fault",  # a deviation; detail: its text in a plan
    "note",
]
"""The kinds of records."""

WHATS: frozenset[str] = frozenset(get_args(What))


class Record(NamedTuple):
    """
    One thing that happened.

    :param number: its place in the history, from zero
    :param time: seconds of virtual time since the run began
    :param actor: the process that did or saw it; ``user`` for the scenario, ``server`` for the server's own loops
    :param what: the kind of the record
    :param object: resource, namespace and name: ``pods/default/web-0``; a key for syncs
    :param version: the object's resourceVersion as a number counted from the run's beginning; 0 for none
    :param detail: see the comments on the kinds
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

    :ivar listeners: functions that are called with each record, right after it was appended
    """

    records: list[Record] = field(default_factory=list)
    listeners: list[Callable[[Record], object]] = field(default_factory=list)

    def append(self, time: float, actor: str, what: What, name: str = "", version: int = 0, detail: str = "") -> Record:
        """
        Append a record, and call the listeners.

        :param name: the record's `object`
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
        """The SHA-256 of the lines, in hexadecimal digits. It is equal for two runs that are the same."""
        sum_ = hashlib.sha256()
        for line in self.lines():
            sum_.update(line.encode())
            sum_.update(b"\n")
        return sum_.hexdigest()
