"""Tidying one GroupQuota's record: reservations end whose objects are stored, and those whose time is over.

A time is over when who leads has seen the reservation for so long, by its own clock that nobody can set. Clocks of
different machines differ, and a reservation that ends too early gives away what is about to be used; one that ends too
late, because another replica has begun to lead, costs room for a while.

Nor is that time believed blindly: a cache may be old. Before a reservation is given back, the server is asked for the
object. If it is there, the reservation stands until the cache shows it.
"""

from __future__ import annotations

from typing import Any, Protocol

from kinformer.client import Client
from kinformer.logs import get_logger
from kinformer.meta import GroupResource, accessor_of
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor
from kinformer_controllers.groupquota.group_quota import has_malformed_status
from kinformer_controllers.groupquota.record import Record, Reservation
from kinformer_controllers.groupquota.reservations import ReservationLedger, releasing
from kinformer_controllers.groupquota.sightings import Sightings

__all__ = ("Objects", "RecordTidier")

log = get_logger(__name__)


class Objects(Protocol):
    """Asks the server for objects, of which only the metadata matters."""

    async def find(self, resource: GroupResource, namespace: str, name: str) -> Any | None:
        """
        The object of that name, None if there is none.

        :raises LookupError: if its kind is not known
        :raises ClientError: if the server could not be asked
        """


class RecordTidier:
    """
    Who leads has one.

    :param client: whom to write with
    """

    def __init__(
        self,
        accessor: GroupQuotaAccessor,
        ledger: ReservationLedger,
        sightings: Sightings,
        objects: Objects,
        client: Client,
    ) -> None:
        self._accessor = accessor
        self._ledger = ledger
        self._objects = objects
        self._client = client
        self._sightings = sightings

    async def tidy(self, name: str) -> float | None:
        """
        Tidy a quota's record.

        :return: seconds until the next reservation's time is over; None if there are none
        :raises GroupQuotaError: if it makes no sense
        :raises ClientError: if the server could not be asked or written to
        """
        obj = await self._accessor.read_surely(name)
        if obj is None or has_malformed_status(obj):
            return None  # a recount writes it anew
        over = await self._never_stored(self._overdue(name, self._accessor.presented(obj).record))
        async with self._ledger.counting():
            obj = await self._accessor.read_surely(name)
            if obj is None or has_malformed_status(obj):
                return None
            quota = self._accessor.presented(obj)
            tidied = releasing(quota, {id_ for id_ in over if id_ in quota.record.reservations})
            if len(tidied.record.reservations) < len((obj.get("status") or {}).get("reservations") or ()):
                await self._accessor.write(tidied, self._client)
        if over:
            log.info("reservations_given_back", quota=name, count=len(over))
        return min((self._left(name, one) for one in tidied.record.reservations.values()), default=None)

    def _overdue(self, name: str, record: Record) -> list[Reservation]:
        return [one for one in record.reservations.values() if self._left(name, one) <= 0]

    def _left(self, name: str, one: Reservation) -> float:
        return self._ledger.seconds - self._sightings.seen_for(name, one.id)

    async def _never_stored(self, reservations: list[Reservation]) -> set[str]:
        """Those of them whose objects are not there, and will not be."""
        ids = set()
        for one in reservations:
            if not one.uid or not await self._is_stored(one):
                ids.add(one.id)
        return ids

    async def _is_stored(self, reservation: Reservation) -> bool:
        try:
            found = await self._objects.find(reservation.resource, reservation.namespace, reservation.name)
        except LookupError as error:
            log.warning("reservation_kept", object=f"{reservation.namespace}/{reservation.name}", why=str(error))
            return True
        if found is None:
            return False
        accessor = accessor_of(found)
        return reservation.is_shown_by(accessor.uid(found), accessor.resource_version(found))
