"""The endpoints controller: for each service with a selector it keeps an Endpoints object with its pods' addresses.

It is kube-controller-manager's controller, with the same events and the same writes, except for two differences. Ports
are sorted by their values (:mod:`~kinformer_controllers.shared.services.repacking`). And Endpoints that are over
capacity are not written again in each sync.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

from prometheus_client import Gauge

from kinformer.cache import Deleted, ResourceEventHandlerDetailedFuncs, deletion_handling_key
from kinformer.client import NotFound
from kinformer.controllerutil.pod_control import is_namespace_terminating
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Endpoints, V1EndpointSubset, V1ObjectMeta, V1Service
from kinformer.record import WARNING
from kinformer_controllers.endpoint.spec import EndpointOptions
from kinformer_controllers.endpoint.subsets import (
    OVER_CAPACITY_ANNOTATION,
    TRUNCATED,
    same_subsets,
    subsets_of,
    truncate,
)
from kinformer_controllers.shared.gauges import SummedGauges
from kinformer_controllers.shared.services.pod import EndpointPod
from kinformer_controllers.shared.services.service import (
    HEADLESS_LABEL,
    TRIGGER_TIME_ANNOTATION,
    format_trigger_time,
    has_cluster_ip,
)
from kinformer_controllers.shared.services.syncer import ServiceSyncer

__all__ = (
    "LEADER_ANNOTATION",
    "EndpointController",
)

log = get_logger(__name__)

#: The label of Endpoints that this controller made, and its value. The value is the source component of Events, too.
_MANAGED_BY_LABEL = "endpoints.kubernetes.io/managed-by"
_MANAGED_BY = "endpoint-controller"


#: The annotation of Endpoints that belong to no service: an old kind of lock for leader election.
LEADER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"

# Gauges, although they only ever grow: prometheus-client adds _total to a counter's name.
_CHANGES: Final = Gauge("endpoint_controller_changes", "Number of Endpoints changes", ("operation",))
_SYNCS: Final = Gauge("endpoint_controller_syncs", "Number of Endpoints syncs", ("result",))
_DESIRED: Final = Gauge("endpoint_controller_endpoints_desired", "Number of endpoints desired")


class EndpointController(ServiceSyncer[V1Endpoints | None]):
    """Syncs the Endpoints of services."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(EndpointOptions)
        informers = context.informers
        clock = context.clock
        self._metrics = _EndpointMetrics()
        services, endpoints = informers.informer_for(V1Service), informers.informer_for(V1Endpoints)
        super().__init__(services, self._metrics)
        self._endpoints = endpoints.indexer
        self._server = context.client.resource(V1Endpoints)
        self._recorder = context.recorder(_MANAGED_BY)
        self.controller = Controller(
            "endpoint",
            self.sync,
            workers=options.concurrent_endpoint_syncs,
            consistent=True,
            on_stale=self.stale,
            clock=clock,
        )
        self.follow(informers, options.endpoint_updates_batch_period)
        # Changes by other clients are ignored, as in Kubernetes. The next change of the service or its pods corrects
        # them.
        self.controller.handle(endpoints, ResourceEventHandlerDetailedFuncs(self._found, delete=self._deleted))

    def _found(self, endpoints: V1Endpoints, is_in_initial_list: bool) -> None:
        # Their service may have been deleted while this process did not run. The workers start when all caches have
        # synced, and then check it.
        if is_in_initial_list and LEADER_ANNOTATION not in (endpoints.metadata.annotations or {}):
            self.controller.queue.add(meta_namespace_key(endpoints))

    def _deleted(self, endpoints: Deleted[V1Endpoints]) -> None:
        key = deletion_handling_key(endpoints)
        # If the service is gone, too, there is nothing to do.
        if self._services.get_by_key(key) is not None:
            self.controller.queue.add(key)

    def _there(self, key: str) -> V1Endpoints | None:
        return self._endpoints.get_by_key(key)

    async def _write(
        self,
        key: str,
        service: V1Service,
        pods: Collection[EndpointPod],
        there: V1Endpoints | None,
        triggered: datetime | None,
    ) -> None:
        everything = subsets_of(service, pods)
        self._metrics.desired(key, _addresses(everything))
        subsets, truncated = truncate(everything)
        if there is None:
            await self._create(key, service, _endpoints(service, None, subsets, truncated, triggered))
        elif not _up_to_date(service, there, subsets, truncated):
            await self._update(key, service, _endpoints(service, there, subsets, truncated, triggered))

    async def _create(self, key: str, service: V1Service, endpoints: V1Endpoints) -> None:
        try:
            await self._server.create(endpoints)
        except Exception as error:
            # Nothing can be created in the namespace any more, and the service will be deleted, too.
            if is_namespace_terminating(error):
                return
            meta = service.metadata
            message = f"Failed to create endpoint for service {meta.namespace}/{meta.name}: {error}"
            self._recorder.event(endpoints, WARNING, "FailedToCreateEndpoint", message)
            raise
        self._metrics.changed("create")

    async def _update(self, key: str, service: V1Service, endpoints: V1Endpoints) -> None:
        try:
            await self._server.update(endpoints)
        except Exception as error:
            message = f"Failed to update endpoint {service.metadata.namespace}/{service.metadata.name}: {error}"
            self._recorder.event(endpoints, WARNING, "FailedToUpdateEndpoint", message)
            raise
        self._metrics.changed("update")

    async def _gone(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        try:
            await self._server.delete(name, namespace)
        except NotFound:
            log.debug("endpoints_already_deleted", key=key)
        else:
            self._metrics.changed("delete")
        self._metrics.desired(key, 0)


def _endpoints(
    service: V1Service,
    current: V1Endpoints | None,
    subsets: list[V1EndpointSubset],
    truncated: bool,
    triggered: datetime | None,
) -> V1Endpoints:
    """Make the object to write, with the service's labels, the existing annotations, and the controller's own."""
    if current is None:
        meta = V1ObjectMeta(name=service.metadata.name, namespace=service.metadata.namespace)
    else:
        meta = copy.copy(current.metadata)
    annotations = dict(meta.annotations or {})
    annotations.pop(TRIGGER_TIME_ANNOTATION, None)
    annotations.pop(OVER_CAPACITY_ANNOTATION, None)
    if triggered is not None:
        annotations[TRIGGER_TIME_ANNOTATION] = format_trigger_time(triggered)
    if truncated:
        annotations[OVER_CAPACITY_ANNOTATION] = TRUNCATED
    labels = _carried_over(service.metadata.labels)
    if not has_cluster_ip(service):
        labels[HEADLESS_LABEL] = ""
    labels[_MANAGED_BY_LABEL] = _MANAGED_BY
    meta.labels, meta.annotations = labels, annotations
    return V1Endpoints(api_version="v1", kind="Endpoints", metadata=meta, subsets=subsets or None)


def _up_to_date(service: V1Service, current: V1Endpoints, subsets: list[V1EndpointSubset], truncated: bool) -> bool:
    labels, annotations = current.metadata.labels or {}, current.metadata.annotations or {}
    return (
        labels.get(_MANAGED_BY_LABEL) == _MANAGED_BY
        and _carried_over(labels) == _carried_over(service.metadata.labels)
        and annotations.get(OVER_CAPACITY_ANNOTATION) == (TRUNCATED if truncated else None)
        and same_subsets(current.subsets, subsets)
    )


def _carried_over(labels: Mapping[str, str] | None) -> dict[str, str]:
    """
    Return the labels without the controller's own.

    So a difference in the headless label alone never causes a write: a service never gains or loses its cluster IP.
    """
    return {key: value for key, value in (labels or {}).items() if key not in (_MANAGED_BY_LABEL, HEADLESS_LABEL)}


def _addresses(subsets: Sequence[V1EndpointSubset]) -> int:
    return sum(len(subset.addresses or ()) + len(subset.not_ready_addresses or ()) for subset in subsets)


class _EndpointMetrics:
    """One controller's metrics."""

    def __init__(self) -> None:
        self._desired = SummedGauges(_DESIRED)

    def changed(self, operation: str) -> None:
        """Count a write: ``create``, ``update`` or ``delete``."""
        _CHANGES.labels(operation).inc()

    def synced(self, result: str) -> None:
        """Count a sync: ``success``, ``stale`` or ``error``."""
        _SYNCS.labels(result).inc()

    def desired(self, key: str, endpoints: int) -> None:
        """Set the number of a service's addresses, ready or not; 0 if the service is gone."""
        self._desired.set(key, endpoints)
