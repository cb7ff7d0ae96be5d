"""GroupLeases: the Leases of a group of members. One Lease holds the table, and each member has its own.

All of them have the group's label, so that one request reads them all. If somebody takes the label off the table, it is
found by its name, and gets the label again with the next write. A member's Lease gets it again with the next renewal.
Every write and deletion requires that the Lease has not changed since it was read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kinformer.client import Client, ClientError, Conflict, NotFound
from kinformer.client.types import DeleteOptions, Preconditions
from kinformer.leaderelection import ElectionRecord, LeaseLock
from kinformer.leaderelection.record import record_from_spec
from kinformer.models import V1Lease
from kinformer.sharding.load import Load
from kinformer.sharding.sightings import MemberLease
from kinformer.sharding.table import Table, TableError

__all__ = ("GroupLeases", "LeaseGone", "MemberLock", "Seen")

_GROUP: Final = "kinformer.dev/shard-group"
_LEAVING: Final = "kinformer.dev/shard-leaving"
_LOAD: Final = "kinformer.dev/shard-load"


@dataclass(frozen=True, slots=True)
class Seen:
    """
    The Leases as they were read from the server.

    :param table: None if there is none yet, or if it is not valid
    :param lease: the Lease of the table; None if there is none yet
    :param broken: why the Lease has no valid table; empty if it has one
    :param has_label: whether the Lease of the table has the group's label
    """

    members: tuple[MemberLease, ...]
    table: Table | None
    lease: dict[str, Any] | None
    broken: str = ""
    has_label: bool = True

    @property
    def version(self) -> str:
        """The version of the Lease with the table; empty if there is none."""
        return self.lease["metadata"]["resourceVersion"] if self.lease is not None else ""


class GroupLeases:
    """
    :param client: the client of a member; its writes must be refused once the member's Lease is not held
    :param group: the name of the group, and of the Lease with its table
    """

    def __init__(self, client: Client, namespace: str, group: str) -> None:
        self.namespace = namespace
        self.group = group
        self._leases = client.resource(dict, V1Lease)

    def describe(self) -> str:
        """The group's name in logs and errors."""
        return f"{self.namespace}/{self.group}"

    async def read(self) -> Seen:
        """
        Read everything, in one request if the table has its label.

        :raises ClientError: if that failed
        """
        found = await self._leases.list(self.namespace, label_selector=f"{_GROUP}={self.group}")
        members: list[MemberLease] = []
        lease: dict[str, Any] | None = None
        for item in found.items:
            if item["metadata"]["name"] == self.group:
                lease = item
            else:
                members.append(_member(item))
        has_label = lease is not None
        if lease is None:
            lease = await self._table_by_name()
        if lease is None:
            return Seen(tuple(members), None, None)
        try:
            table = Table.read(lease["metadata"].get("annotations") or {})
        except TableError as error:
            return Seen(tuple(members), None, lease, str(error), has_label)
        return Seen(tuple(members), table, lease, has_label=has_label)

    async def _table_by_name(self) -> dict[str, Any] | None:
        try:
            return await self._leases.get(self.group, self.namespace)
        except NotFound:
            return None

    async def write(self, seen: Seen, table: Table) -> None:
        """
        Replace the table that was read.

        :raises Conflict: if another member wrote it since
        :raises ClientError: if that failed
        """
        if seen.lease is None:
            metadata: dict[str, Any] = {
                "name": self.group,
                "namespace": self.namespace,
                "labels": {_GROUP: self.group},
                "annotations": table.annotations(),
            }
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}}
            await self._leases.create(lease, self.namespace)
            return
        metadata = dict(seen.lease["metadata"])
        metadata["labels"] = {**(metadata.get("labels") or {}), _GROUP: self.group}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **table.annotations()}
        await self._leases.update({**seen.lease, "metadata": metadata})

    async def take(self, member: str, version: str) -> bool:
        """
        Delete a member's Lease, if it has not changed since it was seen. Return whether it is gone.

        A member creates no second Lease, so it cannot renew its Lease after that.

        :raises ClientError: if it is not known whether it is gone
        """
        options = DeleteOptions(preconditions=Preconditions(resource_version=version))
        try:
            await self._leases.delete(member, self.namespace, options)
        except NotFound:
            return True
        except Conflict:
            return False
        return True

    async def remove(self, member: str) -> None:
        """
        Delete this member's own Lease, if it still exists.

        :raises ClientError: if it is not known whether it is gone
        """
        try:
            await self._leases.delete(member, self.namespace)
        except NotFound:
            return


class LeaseGone(ClientError):
    """A member's Lease was held and does not exist any more: another member took it."""


class MemberLock(LeaseLock):
    """
    The Lease of one member. It is created once, and never again.

    :param name: the member's name, and the Lease's
    :param load: returns the member's load, which is written with each renewal
    :param on_gone: called when the Lease was held and does not exist any more
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        group: str,
        name: str,
        *,
        load: Callable[[], Load] = Load,
        on_gone: Callable[[], object] = lambda: None,
    ) -> None:
        labels = {_GROUP: group}
        super().__init__(client, namespace, name, name, labels=labels, annotations=lambda _: {_LOAD: load().text})
        self._uid = ""
        self._on_gone = on_gone

    def leave(self) -> None:
        """Mark the Lease with the next renewal: this member must not get any more ranges."""
        self._labels[_LEAVING] = "true"

    async def get(self) -> ElectionRecord:
        """
        See :meth:`Lock.get`.

        :raises LeaseGone: if it is another Lease than the one that was held before
        """
        record = await super().get()
        # A late request to create it may have arrived after another member took the first one.
        if self._uid and self._lease is not None and self._lease["metadata"]["uid"] != self._uid:
            raise self._gone()
        return record

    async def create(self, record: ElectionRecord) -> None:
        """
        See :meth:`Lock.create`.

        :raises LeaseGone: if it was held before
        """
        if self._uid:
            raise self._gone()
        await super().create(record)
        self._note()

    async def update(self, record: ElectionRecord) -> None:
        """See :meth:`Lock.update`."""
        await super().update(record)
        self._note()

    def _note(self) -> None:
        assert self._lease is not None
        self._uid = self._uid or self._lease["metadata"]["uid"]

    def _gone(self) -> LeaseGone:
        self._on_gone()
        return LeaseGone(f"the Lease {self.describe()} was taken")


def _member(lease: dict[str, Any]) -> MemberLease:
    metadata, record = lease["metadata"], record_from_spec(lease.get("spec") or {})
    return MemberLease(
        name=metadata["name"],
        version=metadata["resourceVersion"],
        holds=record.holder_identity == metadata["name"],
        seconds=record.lease_duration_seconds,
        leaving=(metadata.get("labels") or {}).get(_LEAVING) == "true",
        load=Load.parse((metadata.get("annotations") or {}).get(_LOAD, "")),
    )
