"""The background job: recounts every GroupQuota at long intervals, and at once what has been freed.

It corrects what was charged and never stored. What is reserved counts as used; so does, until the reservations of a
process before this one must have run out, whatever the status says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client, Conflict
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.manager import Controller, SyncError, generation_changed
from kinformer.meta import GroupResource
from kinformer.meta.resourcelist import Amounts, ResourceList, add, mask, maximum, subtract
from kinformer.workqueue import until
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor, Namespaces
from kinformer_controllers.groupquota.group_quota import GroupQuotaError, hard_of, read_group_quota
from kinformer_controllers.groupquota.reservations import ReservationLedger
from kinformer_controllers.shared.quota.evaluator import GenericEvaluator, UsageStatsOptions
from kinformer_controllers.shared.quota.limits import Quota
from kinformer_controllers.shared.quota.monitor import QuotaMonitor
from kinformer_controllers.shared.quota.registry import MODELS, WHOLE, Registry, core_registry
from kinformer_controllers.shared.quota.sources import InformerSource, NoSource, ObjectSource

__all__ = ("GroupQuotaController",)

log = get_logger(__name__)

_TRIES: Final = 5

# Seconds after the end of a reservation at which it is over, however the clock is rounded.
_A_MOMENT: Final = 0.01


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
        self._accessor = accessor
        self._namespaces = namespaces
        self._ledger = ledger
        self._period = period
        self._began = self._clock.monotonic()
        self._informer = quotas
        self._quotas = quotas.indexer
        # By uid: quotas that a process before this one may have charged.
        self._inherited: set[str] = set()

        def source_of(resource: GroupResource) -> ObjectSource:
            # The others are found by the monitor.
            return InformerSource(informers.informer_for(MODELS[resource])) if resource in WHOLE else NoSource()

        self.registry: Registry = core_registry(source_of=source_of, clock=self._clock)
        self.controller = Controller("groupquota", self.sync, workers=workers, clock=self._clock)
        # Not of each charge, which is a change of the status.
        self.controller.watch(quotas, generation_changed)
        self.monitor = QuotaMonitor(
            client,
            informers,
            self.registry,
            self._freed,
            resource_found=lambda _: self.recount_all(),
            observer=ledger.seen,
            clock=self._clock,
        )
        ledger.freed = self.controller.queue.add

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

    async def sync(self, name: str) -> float | None:
        """
        Recount one quota.

        :return: seconds until something that is reserved must have been stored
        :raises SyncError: if something could not be counted, or the quota makes no sense
        """
        obj = self._accessor.newest(name)
        if obj is None:
            return None
        try:
            quota, hard = read_group_quota(obj, self._namespaces.labels), hard_of(obj)
        except GroupQuotaError as error:
            raise SyncError(f"GroupQuota {name}: {error}") from error
        # First what is reserved: what is stored after this may be counted twice for a moment, and not never.
        reserved = self._ledger.reserved(name)
        stored, errors = await self._count(quota, hard)
        correction = subtract(mask(add(stored, mask(reserved, stored)), hard), mask(quota.used, stored))
        await self._correct(name, quota, hard, correction)
        if errors:
            raise SyncError(f"GroupQuota {name}: {'; '.join(map(str, errors))}")
        return self._until_next_look(name, obj)

    async def _correct(self, name: str, counted: Quota, hard: ResourceList, correction: Amounts) -> None:
        """Write what was found out. What has been charged since the count began is left as it is."""
        for tries_left in range(_TRIES - 1, -1, -1):
            obj = self._accessor.newest(name)
            if obj is None or obj["metadata"]["uid"] != counted.source["metadata"]["uid"]:
                return
            now = read_group_quota(obj, self._namespaces.labels)
            used = mask(add(now.used, correction), hard)
            if self._is_too_early_to_give_back(obj):
                used = mask(maximum(now.used, used), hard)
            if used == now.used and hard == now.hard and "used" in (obj.get("status") or {}):
                return
            try:
                await self._accessor.update(Quota("", name, (), hard, used, obj))
            except Conflict:
                if not tries_left:
                    raise
                continue
            log.debug("group_quota_recounted", quota=name, used={key: str(value) for key, value in used.items()})
            return

    async def _count(self, quota: Quota, hard: ResourceList) -> tuple[ResourceList, list[Exception]]:
        """What is stored, of all that can be counted."""
        used: ResourceList = {}
        errors: list[Exception] = []
        lost: set[str] = set()
        for evaluator in self.registry.list():
            names = evaluator.matching_resources(hard)
            if not names or not isinstance(evaluator, GenericEvaluator):
                continue
            try:
                objects = await self._objects(evaluator, quota)
                used = add(used, await evaluator.add_up(objects, UsageStatsOptions("", quota.scopes, names)))
            except Exception as error:  # whatever it is, what others measure is not to be lost
                errors.append(error)
                lost.update(names)
        return {name: amount for name, amount in used.items() if name in hard and name not in lost}, errors

    async def _objects(self, evaluator: GenericEvaluator, quota: Quota) -> Sequence[Any]:
        is_about = quota.is_about
        return [
            obj
            for namespace in self._namespaces.names
            for obj in await evaluator.source.list(namespace)
            if is_about(namespace, obj)
        ]

    def _freed(self, resource: GroupResource, namespace: str) -> None:
        evaluator = self.registry.get(resource)
        if evaluator is None:
            return
        for obj in self._quotas.list():
            if evaluator.matching_resources(_names(obj)):
                self.controller.queue.add(obj["metadata"]["name"])

    def _until_next_look(self, name: str, obj: Mapping[str, Any]) -> float | None:
        ends = [self._ledger.until_next_end(name)]
        if self._is_too_early_to_give_back(obj):
            ends.append(self._began + self._ledger.seconds - self._clock.monotonic())
        return min((end + _A_MOMENT for end in ends if end is not None), default=None)

    def _is_too_early_to_give_back(self, obj: Mapping[str, Any]) -> bool:
        """Whether objects may be under way that a process before this one has charged."""
        is_early = self._clock.monotonic() - self._began < self._ledger.seconds
        return is_early and obj["metadata"]["uid"] in self._inherited

    async def _recount_all(self) -> None:
        self.recount_all()


def _names(obj: Mapping[str, Any]) -> list[str]:
    return list((obj.get("spec") or {}).get("hard") or ())
