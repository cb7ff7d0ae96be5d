"""Withdrawing the charges that this replica has made for requests that were refused after all.

Each replica does this for its own charges. If it dies before, the reservations end with their time limit.
"""

from __future__ import annotations

from kinformer.clock import Clock
from kinformer.manager import Controller, SyncError
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor
from kinformer_controllers.groupquota.group_quota import GroupQuotaError, has_malformed_status
from kinformer_controllers.groupquota.reservations import ReservationLedger

__all__ = ("Withdrawer",)


class Withdrawer:
    """
    Withdraws charges.

    :param ledger: knows the reservations to withdraw
    """

    def __init__(self, accessor: GroupQuotaAccessor, ledger: ReservationLedger, clock: Clock) -> None:
        self._accessor = accessor
        self._ledger = ledger
        self._controller = Controller("groupquota-withdrawals", self._withdraw, clock=clock)
        ledger.withdrawn = self._controller.queue.add

    async def run(self) -> None:
        """Withdraw charges until cancelled."""
        await self._controller.run()

    async def _withdraw(self, name: str) -> None:
        async with self._ledger.counting():
            obj = await self._accessor.read_surely(name)
            if obj is None or has_malformed_status(obj):
                return
            try:
                quota = self._accessor.presented(obj)
            except GroupQuotaError as error:
                raise SyncError(f"GroupQuota {name}: {error}") from error
            if len(quota.record.reservations) < len((obj.get("status") or {}).get("reservations") or ()):
                await self._accessor.write(quota)
