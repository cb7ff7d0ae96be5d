"""ServiceSyncer: the common base of the controllers of Endpoints and EndpointSlices.

Both check whether a service gets endpoints, and find the service's pods and the time of their changes. The subclass
writes the Endpoints or the EndpointSlices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from kinformer.cache import SharedIndexInformer
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller
from kinformer.meta import GroupResource
from kinformer.models import V1Pod, V1Service
from kinformer_controllers.shared.services.pod import EndpointPod, EndpointPods
from kinformer_controllers.shared.services.selection import PodHandler, Selection, ServiceHandler
from kinformer_controllers.shared.services.service import TriggerTimes, gets_endpoints

__all__ = ("ServiceSyncer", "SyncMetrics")

There = TypeVar("There")


class SyncMetrics(Protocol):
    """The metrics of syncs."""

    def synced(self, result: str) -> None:
        """Count a sync that has ended: ``success``, ``stale`` or ``error``."""


class ServiceSyncer(ABC, Generic[There]):
    """
    Syncs services.

    :ivar controller: calls :meth:`sync`. The subclass makes it with :meth:`stale`, and then calls :meth:`follow`
    """

    controller: Controller

    def __init__(self, services: SharedIndexInformer[V1Service], metrics: SyncMetrics) -> None:
        self._service_informer = services
        self._services = services.indexer
        self._sync_metrics = metrics
        self._trigger_times = TriggerTimes()
        self.selection = Selection()

    def follow(self, informers: SharedInformerFactory, batch_period: float) -> None:
        """
        Add event handlers, so that services are synced when they or their pods change.

        :param batch_period: how long changes of a service's pods are collected before a sync, in seconds
        """
        queue = self.controller.queue
        self.controller.handle(self._service_informer, ServiceHandler(queue, self.selection))
        pods = informers.informer_for(V1Pod)
        self.controller.handle(pods, PodHandler(queue, self.selection, EndpointPods.of(pods), batch_period))

    async def sync(self, key: str) -> None:
        """Sync one service. It is never called twice at the same time for one key."""
        try:
            await self._sync(key)
        except Exception:
            self._sync_metrics.synced("error")
            raise
        self._sync_metrics.synced("success")

    def stale(self, _: GroupResource) -> None:
        """Count a sync that was put off because a cache does not show the last write."""
        self._sync_metrics.synced("stale")

    @abstractmethod
    def _there(self, key: str) -> There:
        """Return the objects of a service that the cache has: its Endpoints, or its EndpointSlices."""

    @abstractmethod
    async def _write(
        self, key: str, service: V1Service, pods: Collection[EndpointPod], there: There, triggered: datetime | None
    ) -> None:
        """
        Write the endpoints of a service.

        :param pods: a view, which must be read before anything is awaited
        :param triggered: the time of the earliest change since the last sync; None if there was none
        """

    @abstractmethod
    async def _gone(self, key: str) -> None:
        """Called when a service does not exist, or no longer exists."""

    async def _sync(self, key: str) -> None:
        service = self._services.get_by_key(key)
        if service is None:
            await self._gone(key)
            self._trigger_times.forget(key)
            return
        if not gets_endpoints(service):
            return
        there = self._there(key)
        pods = self.selection.pods_of(key, service.spec.selector or {})
        if pods is None:
            return
        # This is done even if nothing will be written, so that the next sync does not count these changes again.
        triggered = self._trigger_times.compute(key, service, pods)
        await self._write(key, service, pods, there, triggered)
