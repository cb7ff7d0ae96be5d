"""The oracle of refinement: each write of a Lease is a step that a small model of the protocol allows.

In: every write of the Leases of leader election and of sharding, with its writer and its time. Out: a violation for a
write that is no step of the model. The models say *when* a Lease or a range may change hands, from the server's point
of view. The other oracles see only what goes wrong afterwards.

:class:`ElectionModel` is one Lease of leader election, :class:`ShardModel` the Leases of one group. Whatever the user
of a scenario writes or deletes is believed: the model goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kinformer.sharding.table import Table, TableError
from kinformer.simulation.history import Record
from kinformer.simulation.oracles.base import Oracle, State, Violation

__all__ = ("ElectionModel", "Forbidden", "Refinement", "ShardModel")

_LEASES: Final = "leases.coordination.k8s.io/"
_GROUP: Final = "kinformer.dev/shard-group"

#: The share of a Lease's duration after which another one may take it. A process measures the duration by its own
#: clock, which runs up to a twentieth too fast in a simulation.
_WAITED: Final = 0.95


class Forbidden(Exception):
    """A write is no step of the model. The text says why."""


@dataclass(slots=True)
class _Term:
    """A Lease as it was last written."""

    holder: str
    writer: str
    since: float
    duration: float
    transitions: int

    def is_over(self, time: float) -> bool:
        return time - self.since >= self.duration * _WAITED

    def left(self, time: float) -> float:
        return self.since + self.duration - time


@dataclass(slots=True)
class ElectionModel:
    """
    One Lease of leader election: made, renewed, released, taken when it was released or has run out.

    :ivar term: the Lease as it is; None if there is none, or if the user has written it
    """

    term: _Term | None = None

    def step(self, writer: str, time: float, spec: Mapping[str, Any] | None) -> str:
        """
        Do a step, and return its name.

        :param writer: the process that has written
        :param time: seconds of virtual time
        :param spec: the spec of the Lease after the write; None if it was deleted
        :raises Forbidden: if the model does not allow it
        """
        before = self.term
        if spec is None:
            self.term = None
            if before is not None and before.writer != writer:
                raise Forbidden(f"deletes the Lease of {before.writer}")
            return "delete"
        holder = spec.get("holderIdentity") or ""
        now = _Term(
            holder, writer, time, float(spec.get("leaseDurationSeconds") or 0), int(spec.get("leaseTransitions") or 0)
        )
        self.term = now
        if before is None:
            return "make"
        if holder == before.holder:
            if writer != before.writer:
                raise Forbidden(f"renews the Lease of {before.writer}")
            return "renew"
        if not holder:
            if writer != before.writer:
                raise Forbidden(f"releases the Lease of {before.writer}")
            return "release"
        if now.transitions != before.transitions + 1:
            raise Forbidden(f"takes the Lease and counts {now.transitions} transitions after {before.transitions}")
        if before.holder and not before.is_over(time):
            raise Forbidden(f"takes the Lease of {before.writer}, which has {before.left(time):.1f} s left")
        return "take"


@dataclass(slots=True)
class ShardModel:
    """
    The table of a group, and the Leases of its members. A range is claimed by its new owner. Before that, its old owner
    gave it up, or the old owner's Lease has run out.

    :ivar owners: the owner of each range; None if there is no table, or if the user has written it
    """

    owners: tuple[str, ...] | None = None
    _members: dict[str, _Term] = field(default_factory=dict)

    def renew(self, name: str, writer: str, time: float, spec: Mapping[str, Any] | None) -> None:
        """
        Note that a member's Lease was written.

        :param spec: its spec; None if it was deleted
        :raises Forbidden: if another member deletes it before it is over
        """
        known = self._members.get(name)
        if spec is None:
            self._members.pop(name, None)
            if known is not None and known.holder and known.writer != writer and not known.is_over(time):
                raise Forbidden(f"deletes the Lease of {known.writer}, which has {known.left(time):.1f} s left")
            return
        holder = spec.get("holderIdentity") or ""
        # A leaving member gives up its Lease with its last ranges.
        self._members[name] = _Term(
            holder, known.writer if known else writer, time, float(spec.get("leaseDurationSeconds") or 0), 0
        )

    def forget(self, name: str) -> None:
        """Note that somebody who is no member has deleted a member's Lease."""
        self._members.pop(name, None)

    def step(self, writer: str, time: float, owners: Sequence[str] | None) -> None:
        """
        Do a step of the table.

        :param owners: the owner of each range after the write; None if there is no table any more
        :raises Forbidden: if the model does not allow it
        """
        before, self.owners = self.owners, tuple(owners) if owners is not None else None
        if before is None or owners is None or len(before) != len(owners):
            return
        for number, (was, owner) in enumerate(zip(before, owners, strict=True)):
            if was == owner:
                continue
            if was and not self._may_lose(was, writer, time):
                raise Forbidden(f"takes range {number} from {was}, whose Lease has not run out")
            if owner and (taker := self._members.get(owner)) is not None and taker.writer != writer:
                raise Forbidden(f"gives range {number} to {owner}, which did not claim it")

    def _may_lose(self, owner: str, writer: str, time: float) -> bool:
        term = self._members.get(owner)
        return term is None or not term.holder or term.writer == writer or term.is_over(time)


class Refinement(Oracle):
    """
    Each write of a Lease by a process is a step of :class:`ElectionModel` or of :class:`ShardModel`.

    Only the Leases of groups count: those that a process names when it starts, and those with a group's label.
    """

    name = "steps"
    listens = ("start", "write")

    def __init__(self) -> None:
        self._processes: set[str] = set()
        self._elections: dict[str, ElectionModel] = {}
        self._groups: dict[str, ShardModel] = {}
        #: The group of each member's Lease that was seen, also after its deletion.
        self._group_of: dict[str, str] = {}

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        if record.what == "start":
            self._processes.add(record.actor)
            if record.object:
                self._elections.setdefault(record.object, ElectionModel())
            return ()
        name = record.object
        if not name.startswith(_LEASES):
            return ()
        lease = state.get(name)
        try:
            self._write(record, name, lease)
        except Forbidden as error:
            return (self.violation(f"{record.actor} {error} ({name})", record.number),)
        return ()

    def _write(self, record: Record, name: str, lease: Mapping[str, Any] | None) -> None:
        labels = ((lease or {}).get("metadata") or {}).get("labels") or {}
        if group := labels.get(_GROUP):
            namespace = name.rpartition("/")[0]
            self._group_of[name] = f"{namespace}/{group}"
        spec = (lease or {}).get("spec") or {}
        table = self._group_of.get(name)
        if table is not None:
            model = self._groups.setdefault(table, ShardModel())
            if name != table:
                member, deleted = name.rpartition("/")[2], lease is None
                if deleted and record.actor not in self._processes:
                    model.forget(member)
                else:
                    model.renew(member, record.actor, record.time, None if deleted else spec)
                return
            if record.actor not in self._processes:
                model.owners = None
                return
            model.step(record.actor, record.time, _owners(lease))
        elif name in self._elections:
            if record.actor not in self._processes:
                self._elections[name] = ElectionModel()
            else:
                self._elections[name].step(record.actor, record.time, spec if lease is not None else None)


def _owners(lease: Mapping[str, Any] | None) -> tuple[str, ...] | None:
    try:
        return Table.read(((lease or {}).get("metadata") or {}).get("annotations") or {}).owners
    except TableError:
        return None
