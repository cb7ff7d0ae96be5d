"""The endpoints controller: keeps for each service with a selector an Endpoints object that lists its pods' addresses.

It is kube-controller-manager's: what wakes it, what it writes and what it leaves alone are the same. What is different
is said where it is: the order of ports (:mod:`~controllers.endpoint.subsets`), and that Endpoints that are over
capacity are not written again and again.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from datetime import datetime

import structlog

from controllers.endpoint.capacity import OVER_CAPACITY_ANNOTATION, TRUNCATED, truncate
from controllers.endpoint.handlers import EndpointsHandler
from controllers.endpoint.metrics import EndpointMetrics
from controllers.endpoint.subsets import same_subsets, subsets_of
from controllers.endpoint.versions import StaleVersions
from controllers.pods.control import is_namespace_terminating
from controllers.services.catching_up import CatchingUp
from controllers.services.handlers import PodHandler, ServiceHandler
from controllers.services.selection import Selection
from controllers.services.service import HEADLESS_LABEL, TRIGGER_TIME_ANNOTATION, gets_endpoints, has_cluster_ip
from controllers.services.trigger_time import TriggerTimes, format_trigger_time
from kinformer.client import Client, NotFound
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1Endpoints, V1EndpointSubset, V1ObjectMeta, V1Pod, V1Service
from kinformer.record import WARNING, EventRecorder

__all__ = ("MANAGED_BY", "MANAGED_BY_LABEL", "EndpointController", "make_controller")

log = structlog.get_logger(__name__)

#: On Endpoints that this controller made, and the value it has there. Its Events are from that component, too.
MANAGED_BY_LABEL = "endpoints.kubernetes.io/managed-by"
MANAGED_BY = "endpoint-controller"


def make_controller(context: ControllerContext) -> Controller:
    """
    The entry point ``endpoint``.

    Options: ``concurrent_endpoint_syncs`` (5), ``endpoint_updates_batch_period`` (0.0, in seconds).
    """
    return EndpointController(
        context.client,
        context.informers,
        context.recorder(MANAGED_BY),
        clock=context.clock,
        workers=context.option("concurrent_endpoint_syncs", 5),
        batch_period=context.option("endpoint_updates_batch_period", 0.0),
    ).controller


class EndpointController:
    """
    Syncs services.

    :param workers: how many are synced at once
    :param batch_period: seconds for which changes of a service's pods are gathered into one write
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        recorder: EventRecorder,
        *,
        clock: Clock | None = None,
        workers: int = 5,
        batch_period: float = 0.0,
    ) -> None:
        clock = clock or RealClock()
        services, endpoints = informers.informer_for(V1Service), informers.informer_for(V1Endpoints)
        self._services = services.indexer
        self._endpoints = endpoints.indexer
        self._server = client.resource(V1Endpoints)
        self._recorder = recorder
        self._metrics = EndpointMetrics()
        self._versions = StaleVersions()
        self._trigger_times = TriggerTimes()
        self.selection = Selection()
        self.controller = Controller("endpoint", self.sync, workers=workers, clock=clock)
        queue = self.controller.queue
        self._catching_up = CatchingUp(queue, clock)
        self.controller.handle(services, ServiceHandler(queue, self.selection))
        self.controller.handle(informers.informer_for(V1Pod), PodHandler(queue, self.selection, batch_period))
        self.controller.handle(endpoints, EndpointsHandler(queue, self._services, self._versions, self._catching_up))

    async def sync(self, key: str) -> float | None:
        """
        Bring one service's Endpoints to where they should be; never called for the same key twice at a time.

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
            await self._remove(key)
            return None
        if not gets_endpoints(service):
            return None
        current = self._endpoints.get_by_key(key)
        if self._versions.is_stale(key, current):
            seconds = self._catching_up.wait(key)
            if seconds is not None:
                return seconds
            log.warning("endpoints_never_seen", service=key)
            self._versions.forget(key)
        self._catching_up.forget(key)
        pods = self.selection.pods_of(key, service.spec.selector)
        if pods is None:
            return None
        # Even if nothing is written: what was seen now is no news next time.
        triggered = self._trigger_times.compute(key, service, pods)
        everything = subsets_of(service, pods)
        self._metrics.desired(key, _addresses(everything))
        subsets, truncated = truncate(everything)
        if current is None:
            await self._create(key, service, _endpoints(service, None, subsets, truncated, triggered))
        elif not _up_to_date(service, current, subsets, truncated):
            await self._update(key, service, current, _endpoints(service, current, subsets, truncated, triggered))
        return None

    async def _create(self, key: str, service: V1Service, endpoints: V1Endpoints) -> None:
        try:
            await self._server.create(endpoints)
        except Exception as error:
            # None can be made there any more, and the service goes next.
            if is_namespace_terminating(error):
                return
            meta = service.metadata
            message = f"Failed to create endpoint for service {meta.namespace}/{meta.name}: {error}"
            self._recorder.event(endpoints, WARNING, "FailedToCreateEndpoint", message)
            raise
        self._metrics.changed("create")
        # The watch may be quicker than the answer: then there is nothing to wait for.
        if self._endpoints.get_by_key(key) is None:
            self._versions.replaced(key, None)

    async def _update(self, key: str, service: V1Service, current: V1Endpoints, endpoints: V1Endpoints) -> None:
        try:
            updated = await self._server.update(endpoints)
        except Exception as error:
            message = f"Failed to update endpoint {service.metadata.namespace}/{service.metadata.name}: {error}"
            self._recorder.event(endpoints, WARNING, "FailedToUpdateEndpoint", message)
            raise
        self._metrics.changed("update")
        # A write that changed nothing in the end leaves the version as it is, and the cache as new as it will be.
        if updated.metadata.resource_version != current.metadata.resource_version:
            self._versions.replaced(key, current)

    async def _remove(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        try:
            await self._server.delete(name, namespace)
        except NotFound:
            log.debug("endpoints_already_deleted", key=key)
        else:
            self._metrics.changed("delete")
        self._metrics.desired(key, 0)
        self._trigger_times.forget(key)
        self._versions.forget(key)
        self._catching_up.forget(key)


def _endpoints(
    service: V1Service,
    current: V1Endpoints | None,
    subsets: list[V1EndpointSubset],
    truncated: bool,
    triggered: datetime | None,
) -> V1Endpoints:
    """What to write: labels are the service's, annotations those that are there, and the controller's own of both."""
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
    labels[MANAGED_BY_LABEL] = MANAGED_BY
    meta.labels, meta.annotations = labels, annotations
    return V1Endpoints(api_version="v1", kind="Endpoints", metadata=meta, subsets=subsets or None)


def _up_to_date(service: V1Service, current: V1Endpoints, subsets: list[V1EndpointSubset], truncated: bool) -> bool:
    labels, annotations = current.metadata.labels or {}, current.metadata.annotations or {}
    return (
        labels.get(MANAGED_BY_LABEL) == MANAGED_BY
        and _carried_over(labels) == _carried_over(service.metadata.labels)
        and annotations.get(OVER_CAPACITY_ANNOTATION) == (TRUNCATED if truncated else None)
        and same_subsets(current.subsets, subsets)
    )


def _carried_over(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Without the controller's own. (The headless one alone is never a reason to write: an IP is for life.)"""
    return {key: value for key, value in (labels or {}).items() if key not in (MANAGED_BY_LABEL, HEADLESS_LABEL)}


def _addresses(subsets: Sequence[V1EndpointSubset]) -> int:
    return sum(len(subset.addresses or ()) + len(subset.not_ready_addresses or ()) for subset in subsets)
