"""Tidying one GroupQuota's record: ends reservations whose objects are stored, and those whose time is over.

The leader measures the time of a reservation by its own monotonic clock, from when it first saw the reservation,
because the clocks of different machines differ. If a reservation ended too early, its amount could be used twice. If it
ends too late, because the leader has changed, its amount is only unavailable for a while.

When the time is over, the cache may still be old. So before a reservation is given back, the object is read from the
server. If it exists, the reservation stays until the cache has the object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

from kinformer.client import Client, NotFound
from kinformer.logs import get_logger
from kinformer.meta import GroupResource, accessor_of
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor
from kinformer_controllers.groupquota.record import Record, Reservation, version_of
from kinformer_controllers.groupquota.reservations import ReservationLedger, releasing
from kinformer_controllers.groupquota.sightings import Sightings
from kinformer_controllers.shared.quota.monitor import QuotaMonitor

__all__ = (
    "Objects",
    "RecordTidier",
    "ServerObjects",
)

log = get_logger(__name__)

#: Seconds between two looks at a reservation whose time is over.
_SOON: Final = 1.0


class Objects(Protocol):
    """Reads the metadata of objects from the server."""

    async def find(self, resource: GroupResource, namespace: str, name: str) -> Any | None:
        """
        Return the object with that name; None if there is none.

        :raises LookupError: if its kind is not known
        :raises ClientError: if the server could not be read
        """


@dataclass(eq=False, slots=True)
class RecordTidier:
    """
    Tidies records. The leader has one.

    :param client: the client to write with
    """

    accessor: GroupQuotaAccessor
    ledger: ReservationLedger
    sightings: Sightings
    objects: Objects
    client: Client

    async def tidy(self, name: str) -> float | None:
        """
        Tidy a quota's record.

        :return: seconds until the next reservation's time is over; None if there are none
        :raises GroupQuotaError: if the quota is invalid
        :raises ClientError: if a read or a write failed
        """
        written = await self.accessor.countable(name)
        if written is None:
            return None
        over = await self._never_stored(self._overdue(name, self.ledger.presented(written).record))
        async with self.ledger.counting():
            written = await self.accessor.countable(name)
            if written is None:
                return None
            quota = self.ledger.presented(written)
            tidied = releasing(quota, {id_ for id_ in over if id_ in quota.record.reservations})
            if len(tidied.record.reservations) < len(written.record.reservations):
                await self.accessor.write(tidied, self.client)
        if over:
            log.info("reservations_given_back", quota=name, count=len(over))
        # A reservation whose time is over stays while its object exists. It is looked at again, but not at once.
        return min((max(self._left(name, one), _SOON) for one in tidied.record.reservations.values()), default=None)

    def _overdue(self, name: str, record: Record) -> list[Reservation]:
        return [one for one in record.reservations.values() if self._left(name, one) <= 0]

    def _left(self, name: str, one: Reservation) -> float:
        return self.ledger.seconds - self.sightings.seen_for(name, one.id)

    async def _never_stored(self, reservations: list[Reservation]) -> set[str]:
        """Return the ids of the reservations whose objects do not exist and will not be stored any more."""
        ids = set()
        for one in reservations:
            if not one.uid or not await self._is_stored(one):
                ids.add(one.id)
        return ids

    async def _is_stored(self, reservation: Reservation) -> bool:
        try:
            found = await self.objects.find(reservation.resource, reservation.namespace, reservation.name)
        except LookupError as error:
            log.warning("reservation_kept", object=f"{reservation.namespace}/{reservation.name}", why=str(error))
            return True
        if found is None:
            return False
        accessor = accessor_of(found)
        return reservation.is_shown_by(accessor.uid(found), accessor.resource_version(found))


class ServerObjects:
    """
    Reads the metadata of single objects from the server.

    :param monitor: knows the resources that discovery has found
    """

    def __init__(self, monitor: QuotaMonitor) -> None:
        self._monitor = monitor

    async def find(self, resource: GroupResource, namespace: str, name: str) -> Any | None:
        """
        Return the object with that name; None if there is none.

        :raises LookupError: if its kind is not known
        :raises ClientError: if the server could not be read
        """
        try:
            return await self._monitor.objects(resource).get(name, namespace)
        except NotFound:
            return None

    async def newest_version(self, resource: GroupResource) -> int:
        """
        Return the newest resource version of a resource.

        :raises LookupError: if its kind is not known
        :raises ClientError: if the server could not be read
        """
        return version_of((await self._monitor.objects(resource).list(limit=1)).resource_version)
