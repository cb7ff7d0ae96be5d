"""GroupLeases: what a group of members has on the server. One Lease holds the table, and each member has one.

All of them bear the group's label, so that one request reads them all. What writes and deletes does so on the condition
that the Lease is as it was read.
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
from kinformer.sharding.sightings import MemberLease
from kinformer.sharding.table import Table

__all__ = ("GroupLeases", "LeaseGone", "MemberLock", "Seen")

_GROUP: Final = "kinformer.dev/shard-group"
_LEAVING: Final = "kinformer.dev/shard-leaving"


@dataclass(frozen=True, slots=True)
class Seen:
    """
    What is on the server.

    :param table: None if there is none yet
    :param lease: the Lease that it stands in
    """

    members: tuple[MemberLease, ...]
    table: Table | None
    lease: dict[str, Any] | None


class GroupLeases:
    """
    :param client: of a member; its writes are to be refused once the member's Lease is not held
    :param group: the name of the group, and of the Lease with its table
    """

    def __init__(self, client: Client, namespace: str, group: str) -> None:
        self.namespace = namespace
        self.group = group
        self._leases = client.resource(dict, V1Lease)

    def describe(self) -> str:
        """What log lines and errors call it."""
        return f"{self.namespace}/{self.group}"

    async def read(self) -> Seen:
        """
        Read everything, in one request.

        :raises ClientError: if that failed
        :raises TableError: if the Lease of the group has no table
        """
        found = await self._leases.list(self.namespace, label_selector=f"{_GROUP}={self.group}")
        members: list[MemberLease] = []
        lease: dict[str, Any] | None = None
        for item in found.items:
            if item["metadata"]["name"] == self.group:
                lease = item
            else:
                members.append(_member(item))
        table = Table.read(lease["metadata"].get("annotations") or {}) if lease is not None else None
        return Seen(tuple(members), table, lease)

    async def write(self, seen: Seen, table: Table) -> None:
        """
        Put a table in the place of the one that was seen.

        :raises Conflict: if somebody else wrote one since
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
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **table.annotations()}
        await self._leases.update({**seen.lease, "metadata": metadata})

    async def take(self, member: str, version: str) -> bool:
        """
        Delete a member's Lease, if it is still as it was seen; whether it is gone.

        A member makes no second Lease, so that it can renew none from then on.

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
        Delete one's own Lease, or see that it is gone.

        :raises ClientError: if it is not known whether it is gone
        """
        try:
            await self._leases.delete(member, self.namespace)
        except NotFound:
            return


class LeaseGone(ClientError):
    """A member's Lease was held, and is gone: somebody took it."""


class MemberLock(LeaseLock):
    """
    The Lease of one member, which is made once and never again.

    :param name: the member's name, and the Lease's
    :param on_gone: called when the Lease was held and is gone
    """

    def __init__(
        self, client: Client, namespace: str, group: str, name: str, *, on_gone: Callable[[], object] = lambda: None
    ) -> None:
        super().__init__(client, namespace, name, identity=name, labels={_GROUP: group})
        self._uid = ""
        self._on_gone = on_gone

    def leave(self) -> None:
        """Have the next renewal say that this member is to be given nothing more."""
        self._labels[_LEAVING] = "true"

    async def get(self) -> ElectionRecord:
        """
        See :meth:`Lock.get`.

        :raises LeaseGone: if it is not the one that was held before
        """
        record = await super().get()
        # A request to make it that was long on its way may have arrived after somebody took the first one.
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
    )
