"""The background job: recounts every GroupQuota at long intervals, and at once what a change concerns.

It corrects what was charged and never stored, and counts what was stored and never charged. What is reserved counts as
used; so does, until the reservations of a process before this one must have run out, whatever the status says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anyio

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, SyncError, generation_changed
from kinformer.meta import GroupResource
from kinformer.models import V1Namespace
from kinformer.workqueue import until
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor, Namespaces
from kinformer_controllers.groupquota.changes import GroupChanges, NamespaceHandler, ObjectHandler
from kinformer_controllers.groupquota.group_quota import GroupQuotaError, has_malformed_status
from kinformer_controllers.groupquota.recount import GroupRecounter
from kinformer_controllers.groupquota.reservations import ReservationLedger
from kinformer_controllers.shared.quota.monitor import QuotaMonitor
from kinformer_controllers.shared.quota.registry import MODELS, WHOLE, Registry, core_registry
from kinformer_controllers.shared.quota.sources import InformerSource, NoSource, ObjectSource

__all__ = ("GroupQuotaController",)

# Seconds after the end of a reservation at which it is over, however the clock is rounded.
_A_MOMENT: Final = 0.01

# Seconds until a recount that could not be exact is done again.
_SECOND_LOOK: Final = 1.0


class GroupQuotaController:
    """
    Recounts GroupQuotas.

    :param ledger: knows what is reserved, and is told what is stored
    :param period: seconds between two recounts of everything; 0 for never
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        quotas: SharedIndexInformer[dict[str, Any]],
        accessor: GroupQuotaAccessor,
        namespaces: Namespaces,
        ledger: ReservationLedger,
        *,
        workers: int = 5,
        period: float = 300.0,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or RealClock()
        self._ledger = ledger
        self._period = period
        self._began = self._clock.monotonic()
        self._informer = quotas
        self._quotas = quotas.indexer
        # By uid: quotas that a process before this one may have charged.
        self._inherited: set[str] = set()
        # Set when the quota has been recounted: those that are still to be, and those that are.
        self._doubted: dict[str, anyio.Event] = {}
        self._counting: dict[str, anyio.Event] = {}

        def source_of(resource: GroupResource) -> ObjectSource:
            # The others are found by the monitor.
            return InformerSource(informers.informer_for(MODELS[resource])) if resource in WHOLE else NoSource()

        self.registry: Registry = core_registry(source_of=source_of, clock=self._clock)
        self.controller = Controller("groupquota", self.sync, workers=workers, clock=self._clock)
        # Not of each charge, which is a change of the status.
        self.controller.watch(quotas, lambda old, new: generation_changed(old, new) or has_malformed_status(new))
        ledger.freed = self.controller.queue.add
        self.changes = GroupChanges(accessor, self.registry, self.controller.queue.add, self._doubt)
        self.controller.handle(informers.informer_for(V1Namespace), NamespaceHandler(self.changes))
        self.monitor = QuotaMonitor(
            client,
            informers,
            self.registry,
            lambda resource: ObjectHandler(resource, ledger, self.changes),
            resource_found=lambda _: self.recount_all(),
            clock=self._clock,
        )
        self._recounter = GroupRecounter(
            accessor,
            namespaces,
            ledger,
            self.registry,
            lambda: self.monitor.has_told,
            self._is_too_early_to_give_back,
            self._clock,
        )

    @property
    def has_synced(self) -> bool:
        """Whether everything is known that a recount needs."""
        return self.controller.has_synced

    async def run(self) -> None:
        """Work until cancelled."""
        self._began = self._clock.monotonic()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.monitor.run)
            await self.monitor.wait_synced()
            await self._informer.wait_synced()
            self._inherited = {obj["metadata"]["uid"] for obj in self._quotas.list()}
            tasks.start_soon(self.controller.run)
            if self._period > 0:
                await until(self._recount_all, self._period, clock=self._clock)
            await anyio.sleep_forever()

    def recount_all(self) -> None:
        """Recount every quota when there is time."""
        for name in self._quotas.list_keys():
            self.controller.queue.add(name)

    def is_doubted(self, name: str) -> bool:
        """Whether something may be stored that a quota's usage lacks."""
        return name in self._doubted or name in self._counting

    async def counted(self, name: str) -> None:
        """Return when nothing is known to be stored that a quota's usage lacks, or when counting it was tried."""
        while (event := self._counting.get(name) or self._doubted.get(name)) is not None:
            await event.wait()

    async def sync(self, name: str) -> float | None:
        """
        Recount one quota.

        :return: seconds until something that is reserved must have been stored
        :raises SyncError: if something could not be counted, or the quota makes no sense
        """

        def began() -> None:
            if name in self._doubted:
                self._counting[name] = self._doubted.pop(name)

        try:
            result = await self._recounter.recount(name, began)
        except GroupQuotaError as error:
            raise SyncError(f"GroupQuota {name}: {error}") from error
        finally:
            if name in self._counting:
                self._counting.pop(name).set()
        if result.errors:
            raise SyncError(f"GroupQuota {name}: {'; '.join(map(str, result.errors))}")
        if result.obj is None:
            return None
        ends = [self._ledger.until_next_end(name), None if result.is_exact else _SECOND_LOOK]
        if self._is_too_early_to_give_back(result.obj):
            ends.append(self._began + self._ledger.seconds - self._clock.monotonic())
        return min((end + _A_MOMENT for end in ends if end is not None), default=None)

    def _doubt(self, name: str) -> None:
        self.controller.queue.add(name)
        if self.has_synced and name not in self._doubted:
            self._doubted[name] = anyio.Event()

    def _is_too_early_to_give_back(self, obj: Mapping[str, Any]) -> bool:
        """Whether objects may be under way that a process before this one has charged."""
        is_early = self._clock.monotonic() - self._began < self._ledger.seconds
        return is_early and obj["metadata"]["uid"] in self._inherited

    async def _recount_all(self) -> None:
        self.recount_all()
