"""The quota monitor: a handler, and an evaluator, for every kind that a namespace can have.

What kinds there are it learns by discovery, again and again: a custom resource can be limited as soon as its definition
is there, and what is gone is followed no more. Kinds of which somebody else needs the objects are followed with the
shared informers; of all others an informer of the monitor's own has the metadata only, which is all that counting
needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from kinformer.cache import (
    NAMESPACE_INDEX,
    CacheNotSynced,
    ListWatch,
    ResourceEventHandler,
    SharedIndexInformer,
    namespace_index_func,
    wait_for_cache_sync,
)
from kinformer.client import Client, Resource
from kinformer.client.errors import ClientError
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.meta import GroupResource, GroupVersionResource, accessor_for
from kinformer.models import PartialObjectMetadata, ResourceV1ResourceClaim, resource_for
from kinformer.workqueue import until
from kinformer_controllers.shared.quota.counts import object_count_evaluator
from kinformer_controllers.shared.quota.device_claims import device_claim_evaluator
from kinformer_controllers.shared.quota.evaluator import Evaluator
from kinformer_controllers.shared.quota.registry import ALWAYS_THERE, IGNORED_RESOURCES, MODELS, WHOLE, Registry
from kinformer_controllers.shared.quota.sources import ClientSource, InformerSource, ObjectSource

__all__ = ("HandlerOf", "QuotaMonitor", "quotable_resources")

log = get_logger(__name__)

#: Seconds between two discoveries, as in kube-controller-manager.
DISCOVERY_PERIOD: Final = 30.0

_DEVICE_CLAIMS: Final = resource_for(ResourceV1ResourceClaim).gvr

#: Makes what is told of the objects of a resource.
HandlerOf = Callable[[GroupResource], ResourceEventHandler[Any]]

_VERBS: Final = frozenset({"create", "list", "watch", "delete"})


async def quotable_resources(client: Client) -> dict[GroupResource, GroupVersionResource]:
    """
    What a quota can limit: whatever belongs to namespaces and can be created, listed, watched and deleted.

    :return: with the version that its group prefers
    :raises ClientError: if the server could not be asked
    """
    found: dict[GroupResource, GroupVersionResource] = {}
    for resource in await client.discovery.resources(refresh=True):
        if resource.namespaced and _VERBS.issubset(resource.verbs):
            found.setdefault(resource.gvr.group_resource, resource.gvr)
    return {resource: gvr for resource, gvr in found.items() if resource not in IGNORED_RESOURCES}


@dataclass(eq=False, slots=True)
class _Monitor:
    gvr: GroupVersionResource
    informer: SharedIndexInformer[Any]
    registration: Any
    is_own: bool
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    announced: bool = False


class QuotaMonitor:
    """
    Follows every quotable kind.

    :param registry: gets an evaluator for each that it has none for
    :param live: gets one that asks the server, likewise
    :param handler_of: makes what is told of a resource's objects
    :param resource_found: is told of each resource once it can be counted
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        registry: Registry,
        handler_of: HandlerOf,
        *,
        live: Registry | None = None,
        resource_found: Callable[[GroupResource], object] = lambda _: None,
        period: float = DISCOVERY_PERIOD,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._informers = informers
        self._registry = registry
        self._live = live
        self._handler_of = handler_of
        self._resource_found = resource_found
        self._clock = clock or RealClock()
        self._period = period
        self._monitors: dict[GroupResource, _Monitor] = {}
        self._missed: set[GroupResource] = set()
        self._ready = anyio.Event()
        self._tasks: TaskGroup | None = None

    @property
    def resources(self) -> list[GroupResource]:
        """What is followed."""
        return sorted(self._monitors)

    @property
    def has_synced(self) -> bool:
        """Whether something is followed, and of all that is, the objects are known."""
        return bool(self._monitors) and all(one.informer.has_synced for one in self._monitors.values())

    @property
    def has_told(self) -> bool:
        """Whether the handlers have been told of all that the caches show."""
        return not any(one.registration.pending for one in self._monitors.values())

    async def wait_synced(self) -> None:
        """Return when the first discovery is done and what it found is known, or has been waited for long enough."""
        await self._ready.wait()

    async def run(self) -> None:
        """Follow what there is until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await until(self._sync, self._period, clock=self._clock)
            finally:
                self._tasks = None
                for resource in list(self._monitors):
                    self._stop(resource)

    async def _sync(self) -> None:
        try:
            resources = await quotable_resources(self._client)
        except ClientError as error:
            log.warning("quota_discovery_failed", error=str(error))
            return
        self.sync_monitors(resources)
        informers = [monitor.informer for monitor in self._monitors.values()]
        try:
            await wait_for_cache_sync(*informers, timeout=self._period, clock=self._clock)
        except CacheNotSynced as error:
            log.warning("quota_monitors_not_synced", error=str(error))
        for resource, monitor in self._monitors.items():
            if monitor.informer.has_synced and not monitor.announced:
                monitor.announced = True
                self._resource_found(resource)
        self._ready.set()

    def sync_monitors(self, resources: Mapping[GroupResource, GroupVersionResource]) -> None:
        """
        Follow these resources and no others.

        What is missing once may belong to a server that is away for a moment; it is let go when it is missing again.
        """
        current = {resource: monitor.gvr for resource, monitor in self._monitors.items()}
        missing = current.keys() - resources.keys()
        removed = {one for one in missing if one in self._missed}
        moved = {one for one, gvr in current.items() if one in resources and resources[one] != gvr}
        self._missed = missing - removed
        for resource in removed | moved:
            self._stop(resource)
        added = resources.keys() - self._monitors.keys()
        for resource in sorted(added):
            self._start(resource, resources[resource])
        if added or removed:
            log.info("quota_monitors_changed", added=sorted(map(str, added)), removed=sorted(map(str, removed)))

    def _start(self, resource: GroupResource, gvr: GroupVersionResource) -> None:
        assert self._tasks is not None, "monitors are started by run()"
        shared = self._informers.informers.get(gvr)
        if shared is None and resource in WHOLE:
            shared = self._informers.informer_for(MODELS[resource])
            self._informers.start()
        # Of a claim for devices, the metadata is not enough; of a version that has no model here, it has to be.
        model = ResourceV1ResourceClaim if gvr == _DEVICE_CLAIMS else PartialObjectMetadata
        informer = shared or self._own_informer(gvr, model)
        monitor = _Monitor(gvr, informer, informer.add_event_handler(self._handler_of(resource)), shared is None)
        self._monitors[resource] = monitor
        if resource not in WHOLE:
            # Also where there is one: it may be of an informer that has ended.
            is_whole = informer.type is ResourceV1ResourceClaim
            self._registry.add(_evaluator(resource, InformerSource(informer), is_whole))
            if self._live is not None:
                self._live.add(_evaluator(resource, ClientSource(self._objects(gvr, informer.type)), is_whole))
        if monitor.is_own:
            self._tasks.start_soon(_run, monitor, name=f"quota monitor of {resource}")

    def _own_informer(self, gvr: GroupVersionResource, model: type[Any]) -> SharedIndexInformer[Any]:
        return SharedIndexInformer(
            ListWatch(self._objects(gvr, model), self._informers.namespace),
            model,
            name=f"{gvr.group_resource} (quota)",
            indexers={NAMESPACE_INDEX: namespace_index_func(accessor_for(model))},
            clock=self._clock,
        )

    def _objects(self, gvr: GroupVersionResource, model: type[Any]) -> Resource[Any]:
        if model is not ResourceV1ResourceClaim:
            return self._client.resource(PartialObjectMetadata, gvr, namespaced=True, metadata_only=True)
        return self._client.resource(model, gvr)

    def _stop(self, resource: GroupResource) -> None:
        monitor = self._monitors.pop(resource)
        monitor.informer.remove_event_handler(monitor.registration)
        monitor.scope.cancel()
        if resource not in ALWAYS_THERE:
            self._registry.remove(resource)
            if self._live is not None:
                self._live.remove(resource)


def _evaluator(resource: GroupResource, source: ObjectSource, is_whole: bool) -> Evaluator:
    return device_claim_evaluator(source) if is_whole else object_count_evaluator(resource, source)


async def _run(monitor: _Monitor) -> None:
    with monitor.scope:
        await monitor.informer.run()
