"""The ResourceQuota controller: keeps the usage in every quota's status correct.

Admission adds the usage of new objects; this controller counts again, and so subtracts what is no longer used. It
recounts a quota when it is new or its limits change, when objects use less (replenishment), and all quotas every five
minutes. It is kube-controller-manager's controller, with two queues that have their own workers: a quota that cannot be
used before it is counted does not wait behind a full recount.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any, Final

import anyio

from kinformer.cache import NAMESPACE_INDEX
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, Group, Periodic
from kinformer.meta import GroupKind, GroupResource, accessor_of
from kinformer.models import V1ResourceQuota, resource_for
from kinformer_controllers.resourcequota.handlers import QuotaHandler, QuotaQueues
from kinformer_controllers.resourcequota.recount import Recounter
from kinformer_controllers.resourcequota.spec import ResourceQuotaOptions
from kinformer_controllers.shared.quota.counting import DEVICE_CLAIMS
from kinformer_controllers.shared.quota.monitor import QuotaMonitor
from kinformer_controllers.shared.quota.pods import PODS, PodEvaluator
from kinformer_controllers.shared.quota.registry import (
    ALWAYS_THERE,
    MODELS,
    WHOLE,
    client_sources,
    core_registry,
)
from kinformer_controllers.shared.quota.replenishment import (
    CHANGING,
    TO_REPLENISH,
    ReplenishmentHandler,
    UpdateFilter,
    default_update_filter,
)
from kinformer_controllers.shared.quota.sources import CacheNotReady, InformerSource, ObjectSource

__all__ = ("ResourceQuotaController",)

log = get_logger(__name__)

NAME: Final = "resourcequota"

#: Seconds after which a quota with new limits is counted again. Objects may have been created just before the limits
#: were in force, and the first count may not have seen them.
_SECOND_LOOK: Final = 1.0

#: Seconds after which a quota is looked at again that is being recounted, or whose cache does not show the last write.
_SOON: Final = 0.1

_QUOTAS: Final = GroupResource("", "resourcequotas")


class ResourceQuotaController(Group):
    """
    Recounts quotas.

    :param discovery: whether to use discovery and watch all kinds that it finds. If not, `group_kinds` are watched
    :param group_kinds: the kinds to watch without discovery; for an unknown kind there are only full recounts
    """

    def __init__(
        self,
        context: ControllerContext,
        *,
        discovery: bool = True,
        group_kinds: Iterable[GroupKind] = tuple(TO_REPLENISH),
    ) -> None:
        options = context.read(ResourceQuotaOptions)
        workers = options.concurrent_resource_quota_syncs
        informers = context.informers
        self._clock = context.clock
        period = options.resource_quota_sync_period
        self._informers = informers
        self._discovery = discovery
        quota_informer = informers.informer_for(V1ResourceQuota)
        self._quotas = quota_informer.indexer
        self.registry = core_registry(self._source_of, clock=self._clock)
        live = core_registry(client_sources(context.client), clock=self._clock)
        self._recounter = Recounter(context.client.resource(V1ResourceQuota), self.registry, live, clock=self._clock)
        self._recounting: set[str] = set()
        self.primary = Controller(NAME, self.sync, workers=workers, queue_name=f"{NAME}_primary", clock=self._clock)
        self.priority = Controller(
            f"{NAME}-priority", self.sync, workers=workers, queue_name=f"{NAME}_priority", clock=self._clock
        )
        self.queues = QuotaQueues(self.primary.queue, self.priority.queue, self._quotas, self.registry)
        self.primary.handle(quota_informer, QuotaHandler(self.queues))
        update_filter = self._update_filter()

        def handler_of(resource: GroupResource) -> ReplenishmentHandler:
            return ReplenishmentHandler(resource, self.queues.replenish, update_filter)

        self.monitor: QuotaMonitor | None = None
        if discovery:
            self.monitor = QuotaMonitor(
                context.client,
                informers,
                self.registry,
                handler_of,
                live=live,
                resource_found=self.queues.resource_found,
                clock=self._clock,
            )
        else:
            # Without discovery it is not known whether the server has ResourceClaims.
            self.registry.remove(DEVICE_CLAIMS)
            self._follow(group_kinds, handler_of)
        recounts = (
            [Periodic("resourcequota-full-recount", self._add_all, period, clock=self._clock)] if period > 0 else []
        )
        super().__init__(self.primary, self.priority, *recounts)

    async def sync(self, key: str) -> float | None:
        """
        Recount one quota, if it still exists.

        :return: seconds until the second count of new limits, or until a count that cannot be done yet; otherwise None
        """
        quota = self._quotas.get_by_key(key)
        if quota is None:
            log.info("quota_deleted", quota=key)
            self._recounter.forget(key)
            return None
        # A worker of the other queue may be at it.
        if key in self._recounting or self._recounter.is_behind(quota):
            return _SOON
        self._recounting.add(key)
        try:
            return _SECOND_LOOK if await self._recounter.recount(quota) else None
        finally:
            self._recounting.discard(key)

    async def run(self) -> None:
        """Work until cancelled."""
        async with AsyncExitStack() as stack:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            # The tasks must also end if this method ends in another way than by cancellation.
            stack.callback(tasks.cancel_scope.cancel)
            if self.monitor is not None:
                tasks.start_soon(self.monitor.run)
                await self.monitor.wait_synced()
            await self._informers.informer_for(V1ResourceQuota).wait_synced()
            await super().run()

    async def _add_all(self) -> None:
        self.queues.add_all()
        log.debug("full_recount_queued", quotas=len(self._quotas))

    def _update_filter(self) -> UpdateFilter:
        """Return the filter for updates. Objects in namespaces without quotas are not read."""
        pods = self.registry.get(PODS)
        matters = default_update_filter(pods if isinstance(pods, PodEvaluator) else PodEvaluator(clock=self._clock))
        quotas = self._quotas

        def matters_to_a_quota(resource: GroupResource, old: Any, new: Any) -> bool:
            if resource not in CHANGING:
                return False
            namespace = accessor_of(new).namespace(new)
            return bool(quotas.index_keys(NAMESPACE_INDEX, namespace)) and matters(resource, old, new)

        return matters_to_a_quota

    def _follow(
        self, group_kinds: Iterable[GroupKind], handler_of: Callable[[GroupResource], ReplenishmentHandler]
    ) -> None:
        for group_kind in group_kinds:
            model = TO_REPLENISH.get(group_kind)
            if model is None:
                log.warning("no_replenishment", group_kind=str(group_kind), counted="by full recounts only")
                continue
            informer = self._informers.informer_for(model)
            self.primary.handle(informer, handler_of(resource_for(model).gvr.group_resource))
            self.priority.wait_for(informer)

    def _source_of(self, resource: GroupResource) -> ObjectSource:
        is_found_later = self._discovery and resource not in WHOLE and resource != _QUOTAS
        if is_found_later or resource not in ALWAYS_THERE:
            return _NotFoundYet(resource)
        return InformerSource(self._informers.informer_for(MODELS[resource]))


class _NotFoundYet:
    """The source of a kind's objects until discovery has found the kind."""

    __slots__ = ("_resource",)

    def __init__(self, resource: GroupResource) -> None:
        self._resource = resource

    async def list(self, namespace: str) -> list[object]:
        raise CacheNotReady(f"{self._resource} not yet found on the server")

    def version(self) -> str:
        return ""
