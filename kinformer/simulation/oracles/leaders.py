"""The oracle of leaders: a process that led, or owned a range of keys, does not write after another one took over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kinformer.meta import get_controller_of
from kinformer.sharding import Ranges, Table, TableError
from kinformer.simulation.history import Record
from kinformer.simulation.oracles.base import Oracle, State, Violation

__all__ = ("LeaderAlone",)

#: The kinds that own pods. A group that divides objects by owner divides them by their own uid, whoever owns them.
_OWNERS: Final = frozenset({"replicasets.apps", "replicationcontrollers", "jobs.batch", "daemonsets.apps"})
_EVENTS: Final = ("events/", "events.events.k8s.io/")
_LEASES: Final = "leases.coordination.k8s.io/"
_GROUP: Final = "kinformer.dev/shard-group"
#: For so many seconds after a delay fault, a write may come late: no client can take back what it has sent.
_LATE: Final = 30.0


@dataclass(slots=True)
class _Range:
    """The owner of a range of a group's keys, and the record since which it is the owner."""

    owner: str
    since: int


class LeaderAlone(Oracle):
    """
    A process that led does not write after another one holds the Lease. The same is true for a shard and its objects.

    It may write if a fault makes it believe that it still leads, or delays one of its requests. Only Leases with a
    holder count, and only processes that have held one.
    """

    name = "leader"
    listens = ("start", "fault", "write")

    def __init__(self) -> None:
        self._holders: dict[str, tuple[str, int]] = {}
        self._lost: dict[str, tuple[str, str, int]] = {}
        self._believing: set[str] = set()
        self._late_until: dict[str, float] = {}
        #: The group of each process; members by name, and ranges by number, of each group.
        self._groups: dict[str, str] = {}
        self._members: dict[str, str] = {}
        self._ranges: dict[str, dict[int, _Range]] = {}
        self._hashes: dict[str, Ranges] = {}
        #: The uids by which each object was divided since it was made.
        self._owners: dict[str, set[str]] = {}

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        actor = record.actor
        if record.what == "start":
            self._lost.pop(actor, None)
            self._believing.discard(actor)
            self._groups[actor] = record.object
            return ()
        if record.what == "fault":
            if record.detail.startswith("split("):
                self._believing.add(actor)
            elif record.detail.startswith("delay("):
                self._late_until[actor] = record.time + _LATE
            return ()
        if record.object.startswith(_LEASES):
            self._lease(record, state.get(record.object))
            return ()
        if any(hashes.by_owner for hashes in self._hashes.values()):
            if record.detail == "ADDED":
                self._owners.pop(record.object, None)
            self._owners.setdefault(record.object, set()).add(_owner_of(record.object, state.get(record.object)))
        if actor in self._believing or record.time < self._late_until.get(actor, 0.0):
            return ()
        return (*self._write(record), *self._write_of_shard(record))

    def _lease(self, record: Record, lease: Mapping[str, Any] | None) -> None:
        if lease is None:
            return
        if ((lease.get("metadata") or {}).get("labels") or {}).get(_GROUP):
            self._lease_of_shards(record, lease)
        elif (lease.get("spec") or {}).get("holderIdentity"):
            before, _ = self._holders.get(record.object, (record.actor, 0))
            self._holders[record.object] = (record.actor, record.number)
            self._lost.pop(record.actor, None)
            if before != record.actor:
                self._lost[before] = (record.object, record.actor, record.number)

    def _write(self, record: Record) -> Iterator[Violation]:
        lost = self._lost.get(record.actor)
        if lost is None or record.object.startswith(_EVENTS):
            return
        lease, leader, number = lost
        text = f"{record.actor} writes {record.object} although {leader} holds {lease}"
        yield self.violation(text, number, record.number)

    # -- shards -------------------------------------------------------------------------------------------------------

    def _lease_of_shards(self, record: Record, lease: Mapping[str, Any]) -> None:
        name = lease["metadata"]["name"]
        if (lease.get("spec") or {}).get("holderIdentity"):
            self._members.setdefault(name, record.actor)
            return
        try:
            table = Table.read(lease["metadata"].get("annotations") or {})
        except TableError:
            return
        ranges = self._ranges.setdefault(record.object, {})
        self._hashes[record.object] = Ranges(len(table.owners), by_owner=table.by == "owner")
        for number, member in enumerate(table.owners):
            owner = self._members.get(member, "")
            known = ranges.get(number)
            if owner and (known is None or known.owner != owner):
                ranges[number] = _Range(owner, record.number)

    def _write_of_shard(self, record: Record) -> Iterator[Violation]:
        group = self._groups.get(record.actor, "")
        ranges = self._ranges.get(group)
        _, namespace, name = (*record.object.split("/"), "", "")[:3]
        if ranges is None or not name:
            return
        hashes, texts = self._hashes[group], {namespace}
        if hashes.by_owner:
            # Who adopts an object owns it afterwards. Who owned it before may not have seen yet that it was moved.
            texts = self._owners[record.object] - {""}
        owned = {number: ranges[number] for number in map(hashes.of, sorted(texts)) if number in ranges}
        if owned and all(known.owner != record.actor for known in owned.values()):
            number, known = next(iter(owned.items()))
            text = f"{record.actor} writes {record.object} although {known.owner} owns shard {number} of {group}"
            yield self.violation(text, known.since, record.number)


def _owner_of(name: str, obj: Mapping[str, Any] | None) -> str:
    """The uid by which an object is divided in a group that divides objects by owner; empty if there is none."""
    if obj is None or name.startswith(_EVENTS):
        return ""
    controller = get_controller_of(obj) if name.partition("/")[0] not in _OWNERS else None
    return controller.uid if controller is not None else str(obj["metadata"]["uid"])
