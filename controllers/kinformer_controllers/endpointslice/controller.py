"""The endpoint slice controller: for each service with a selector it keeps EndpointSlices with its pods' addresses.

It is kube-controller-manager's controller.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.controllerutil.handlers import ChangeHandler
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1EndpointSlice, V1Node, V1Service
from kinformer.record import WARNING
from kinformer.workqueue import BucketRateLimiter, ItemExponentialFailureRateLimiter, MaxOfRateLimiter
from kinformer_controllers.endpointslice.endpoints import SliceViews
from kinformer_controllers.endpointslice.metrics import SliceMetrics
from kinformer_controllers.endpointslice.reconciler import Reconciler
from kinformer_controllers.endpointslice.spec import EndpointSliceOptions
from kinformer_controllers.endpointslice.topology import Nodes
from kinformer_controllers.endpointslice.tracking import SliceHandler, SliceTracker, is_managed, service_key
from kinformer_controllers.endpointslice.zones import ZoneHints
from kinformer_controllers.shared.services.pod import EndpointPod
from kinformer_controllers.shared.services.syncer import ServiceSyncer

__all__ = ("EndpointSliceController",)

#: The source component of its Events.
COMPONENT = "endpoint-slice-controller"
#: The name of its queue in metrics.
QUEUE = "endpoint_slice"

_SERVICE_INDEX = "serviceName"

#: The first and the longest delay before a failed service is retried, in seconds. They are long because one sync may
#: make many writes.
_RETRY_FIRST, _RETRY_LAST = 1.0, 1000.0
#: The rate of retries of all services together, a second, and the burst.
_RETRY_QPS, _RETRY_BURST = 10.0, 100


class EndpointSliceController(ServiceSyncer[list[V1EndpointSlice]]):
    """Syncs the EndpointSlices of services."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(EndpointSliceOptions)
        max_per_slice = options.max_endpoints_per_slice
        batch_period = options.endpointslice_updates_batch_period
        informers = context.informers
        clock = context.clock
        self._metrics = SliceMetrics(max_per_slice)
        self.tracker = SliceTracker()
        services, nodes = informers.informer_for(V1Service), informers.informer_for(V1Node)
        slices = informers.informer_for(V1EndpointSlice, indexers={_SERVICE_INDEX: _service_index})
        super().__init__(services, self._metrics)
        self._slices = slices.indexer
        self._recorder = context.recorder(COMPONENT)
        self._views = SliceViews()
        self.controller = Controller(
            "endpointslice",
            self.sync,
            workers=options.concurrent_service_endpoint_syncs,
            queue_name=QUEUE,
            limiter=MaxOfRateLimiter(
                ItemExponentialFailureRateLimiter(_RETRY_FIRST, _RETRY_LAST),
                BucketRateLimiter(_RETRY_QPS, _RETRY_BURST, clock),
            ),
            consistent=True,
            on_stale=self.stale,
            clock=clock,
        )
        queue = self.controller.queue
        self.nodes = Nodes(nodes.indexer, queue)
        self._zones = ZoneHints(nodes.indexer, queue.add)
        self._reconciler = Reconciler(
            context.client.resource(V1EndpointSlice),
            self.nodes,
            self._zones,
            self.tracker,
            self._metrics,
            max_per_slice,
            self._recorder.event,
        )
        self.follow(informers, batch_period)
        self.controller.handle(slices, SliceHandler(queue, self.tracker, self._views, batch_period))
        self.controller.handle(nodes, ResourceEventHandlerFuncs(self.nodes.seen))
        self.controller.handle(nodes, ChangeHandler(self._zones.node_changed))

    def _there(self, key: str) -> list[V1EndpointSlice]:
        return [
            slice_
            for slice_ in self._slices.by_index(_SERVICE_INDEX, key)
            if is_managed(slice_) and slice_.metadata.deletion_timestamp is None
        ]

    async def _write(
        self,
        key: str,
        service: V1Service,
        pods: Collection[EndpointPod],
        there: list[V1EndpointSlice],
        triggered: datetime | None,
    ) -> None:
        self.tracker.keep(key, there)
        # Sorted by name, so that the result is always the same.
        existing = [self._views.of(slice_) for slice_ in sorted(there, key=_name_of)]
        try:
            await self._reconciler.reconcile(key, service, pods, existing, triggered)
        except ExceptionGroup as group:
            message = f"Error updating Endpoint Slices for Service {key}: {_all_of(group)}"
            self._recorder.event(service, WARNING, "FailedToUpdateEndpointSlices", message)
            raise

    async def _gone(self, key: str) -> None:
        # The garbage collector deletes its slices.
        self._metrics.forget(key)
        self.tracker.forget(key)
        self.nodes.wait_for(key, ())
        self._zones.gone(key)


def _all_of(group: ExceptionGroup) -> str:
    """What Kubernetes says of several errors: each text once, in brackets if there are several."""
    texts = sorted({str(error) for error in group.exceptions})
    return f"[{', '.join(texts)}]" if len(texts) > 1 else texts[0]


def _service_index(slice_: V1EndpointSlice) -> tuple[str]:
    return (service_key(slice_),)


def _name_of(slice_: V1EndpointSlice) -> str:
    name: str = slice_.metadata.name
    return name
