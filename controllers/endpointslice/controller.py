"""The endpoint slice controller: keeps for each service with a selector slices that list its pods' addresses.

It is kube-controller-manager's. What is not here are hints by the size of zones (the annotation
``service.kubernetes.io/topology-mode``), which a service's traffic distribution has taken the place of.
"""

from __future__ import annotations

import structlog

from controllers.endpointslice.endpoints import SliceViews
from controllers.endpointslice.handlers import SliceHandler
from controllers.endpointslice.labels import is_managed, service_key
from controllers.endpointslice.metrics import SliceMetrics
from controllers.endpointslice.nodes import Nodes
from controllers.endpointslice.reconciler import Reconciler
from controllers.endpointslice.tracker import SliceTracker
from controllers.services.catching_up import CatchingUp
from controllers.services.handlers import PodHandler, ServiceHandler
from controllers.services.selection import Selection
from controllers.services.service import gets_endpoints
from controllers.services.trigger_time import TriggerTimes
from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1EndpointSlice, V1Node, V1Pod, V1Service
from kinformer.record import WARNING, EventRecorder
from kinformer.workqueue import BucketRateLimiter, ItemExponentialFailureRateLimiter, MaxOfRateLimiter

__all__ = ("EndpointSliceController", "make_controller")

log = structlog.get_logger(__name__)

#: The component that its Events are from.
COMPONENT = "endpoint-slice-controller"
#: What its queue's metrics call it.
QUEUE = "endpoint_slice"

_SERVICE_INDEX = "serviceName"

#: Seconds until a service that failed is tried again, doubled each time up to the second: one sync may be many writes.
_RETRY_FIRST, _RETRY_LAST = 1.0, 1000.0
#: Retries of all services together: so many a second, and so many at once.
_RETRY_QPS, _RETRY_BURST = 10.0, 100


def make_controller(context: ControllerContext) -> Controller:
    """
    The entry point ``endpointslice``.

    Options: ``concurrent_service_endpoint_syncs`` (5), ``max_endpoints_per_slice`` (100),
    ``endpointslice_updates_batch_period`` (0.0, in seconds).
    """
    return EndpointSliceController(
        context.client,
        context.informers,
        context.recorder(COMPONENT),
        clock=context.clock,
        workers=context.option("concurrent_service_endpoint_syncs", 5),
        max_per_slice=context.option("max_endpoints_per_slice", 100),
        batch_period=context.option("endpointslice_updates_batch_period", 0.0),
    ).controller


class EndpointSliceController:
    """
    Syncs services.

    :param workers: how many are synced at once
    :param max_per_slice: endpoints that a slice has at most
    :param batch_period: seconds for which changes of a service's pods are gathered
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        recorder: EventRecorder,
        *,
        clock: Clock | None = None,
        workers: int = 5,
        max_per_slice: int = 100,
        batch_period: float = 0.0,
    ) -> None:
        clock = clock or RealClock()
        services, nodes = informers.informer_for(V1Service), informers.informer_for(V1Node)
        slices = informers.informer_for(V1EndpointSlice, indexers={_SERVICE_INDEX: _service_index})
        self._services = services.indexer
        self._slices = slices.indexer
        self._recorder = recorder
        self._metrics = SliceMetrics(max_per_slice)
        self._trigger_times = TriggerTimes()
        self._views = SliceViews()
        self.tracker = SliceTracker()
        self.selection = Selection()
        self.controller = Controller(
            "endpointslice",
            self.sync,
            workers=workers,
            queue_name=QUEUE,
            limiter=MaxOfRateLimiter(
                ItemExponentialFailureRateLimiter(_RETRY_FIRST, _RETRY_LAST),
                BucketRateLimiter(_RETRY_QPS, _RETRY_BURST, clock),
            ),
            clock=clock,
        )
        queue = self.controller.queue
        self._catching_up = CatchingUp(queue, clock)
        self._nodes = Nodes(nodes.indexer, queue)
        self._reconciler = Reconciler(
            client.resource(V1EndpointSlice), self._nodes, self.tracker, self._metrics, max_per_slice
        )
        self.controller.handle(services, ServiceHandler(queue, self.selection))
        self.controller.handle(informers.informer_for(V1Pod), PodHandler(queue, self.selection, batch_period))
        self.controller.handle(slices, SliceHandler(queue, self.tracker, self._views, self._catching_up, batch_period))
        self.controller.handle(nodes, self._nodes)

    async def sync(self, key: str) -> float | None:
        """
        Bring one service's slices to where they should be; never called for the same key twice at a time.

        :return: seconds after which to look again, if the cache was too old to do anything
        """
        try:
            after = await self._sync(key)
        except Exception:
            self._metrics.synced("error")
            raise
        self._metrics.synced("success" if after is None else "stale")
        return after

    async def _sync(self, key: str) -> float | None:
        service = self._services.get_by_key(key)
        if service is None:
            # Its slices are the garbage collector's.
            self._trigger_times.forget(key)
            self._metrics.forget(key)
            self.tracker.forget(key)
            self._catching_up.forget(key)
            return None
        if not gets_endpoints(service):
            return None
        there = [
            slice_
            for slice_ in self._slices.by_index(_SERVICE_INDEX, key)
            if is_managed(slice_) and slice_.metadata.deletion_timestamp is None
        ]
        if self.tracker.is_stale(key, there):
            seconds = self._catching_up.wait(key)
            if seconds is not None:
                return seconds
            log.warning("endpoint_slice_never_seen", service=key)
            self.tracker.forget(key)
        self._catching_up.forget(key)
        pods = self.selection.pods_of(key, service.spec.selector)
        if pods is None:
            return None
        # Even if nothing is written: what was seen now is no news next time.
        triggered = self._trigger_times.compute(key, service, pods)
        # By name, so that the same question has the same answer.
        existing = [self._views.of(slice_) for slice_ in sorted(there, key=_name_of)]
        try:
            await self._reconciler.reconcile(key, service, pods, existing, triggered)
        except ExceptionGroup as group:
            errors = "; ".join(map(str, group.exceptions))
            message = f"Error updating Endpoint Slices for Service {key}: {errors}"
            self._recorder.event(service, WARNING, "FailedToUpdateEndpointSlices", message)
            raise
        return None


def _service_index(slice_: V1EndpointSlice) -> tuple[str]:
    return (service_key(slice_),)


def _name_of(slice_: V1EndpointSlice) -> str:
    name: str = slice_.metadata.name
    return name
