"""ServiceSyncer: what the controllers of Endpoints and of EndpointSlices do alike when they sync a service.

Both look whether the service has endpoints at all, wait until the cache shows what they wrote last, and find the
service's pods and what of them is news. What they write is each one's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from datetime import datetime
from typing import Final, Generic, Protocol, TypeVar

from kinformer.cache import SharedIndexInformer
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller
from kinformer.models import V1Pod, V1Service
from kinformer_controllers.shared.services.handlers import PodHandler, ServiceHandler
from kinformer_controllers.shared.services.pod import EndpointPod, EndpointPods
from kinformer_controllers.shared.services.selection import Selection
from kinformer_controllers.shared.services.service import gets_endpoints
from kinformer_controllers.shared.services.trigger_time import TriggerTimes
from kinformer_controllers.shared.waiting.consistency import ConsistencyStore

__all__ = ("CATCH_UP_TIMEOUT", "ServiceSyncer", "SyncMetrics")

#: Seconds after which the cache is taken at its word. That is soon: traffic goes to where the endpoints say.
CATCH_UP_TIMEOUT: Final = 60.0

There = TypeVar("There")


class SyncMetrics(Protocol):
    def synced(self, result: str) -> None:
        """A sync has ended: ``success``, ``stale`` or ``error``."""


class ServiceSyncer(ABC, Generic[There]):
    """
    Syncs services.

    :param seen: is told of every write by the subclass; a service is not synced before the cache shows them
    :ivar controller: calls :meth:`sync`; made by the subclass, which then calls :meth:`follow`
    """

    controller: Controller

    def __init__(self, services: SharedIndexInformer[V1Service], metrics: SyncMetrics, seen: ConsistencyStore) -> None:
        self._service_informer = services
        self._services = services.indexer
        self._sync_metrics = metrics
        self._seen = seen
        self._trigger_times = TriggerTimes()
        self.selection = Selection()

    def follow(self, informers: SharedInformerFactory, batch_period: float) -> None:
        """
        Have services synced when they, or their pods, change.

        :param batch_period: seconds for which changes of a service's pods are gathered
        """
        queue = self.controller.queue
        self.controller.handle(self._service_informer, ServiceHandler(queue, self.selection))
        pods = informers.informer_for(V1Pod)
        self.controller.handle(pods, PodHandler(queue, self.selection, EndpointPods.of(pods), batch_period))

    async def sync(self, key: str) -> float | None:
        """
        Bring what there is of one service to where it should be; never called for the same key twice at a time.

        :return: seconds after which to look again, if the cache was too old to do anything
        """
        try:
            after = await self._sync(key)
        except Exception:
            self._sync_metrics.synced("error")
            raise
        self._sync_metrics.synced("success" if after is None else "stale")
        return after

    @abstractmethod
    def _there(self, key: str) -> There:
        """What the cache has of a service."""

    @abstractmethod
    async def _write(
        self, key: str, service: V1Service, pods: Collection[EndpointPod], there: There, triggered: datetime | None
    ) -> None:
        """
        Bring it to where it should be.

        :param pods: a view, to be looked at before anything is awaited
        :param triggered: when happened what is written now; None if that was written before
        """

    @abstractmethod
    async def _gone(self, key: str) -> None:
        """A service is not there, or no more."""

    async def _sync(self, key: str) -> float | None:
        service = self._services.get_by_key(key)
        if service is None:
            await self._gone(key)
            self._trigger_times.forget(key)
            self._seen.forget(key)
            return None
        if not gets_endpoints(service):
            return None
        if (wait := self._seen.wait(key)) is not None:
            return wait
        there = self._there(key)
        pods = self.selection.pods_of(key, service.spec.selector or {})
        if pods is None:
            return None
        # Even if nothing is written: what was seen now is no news next time.
        triggered = self._trigger_times.compute(key, service, pods)
        await self._write(key, service, pods, there, triggered)
        return None
