"""The service load balancer controller: manages a cloud's load balancer for each Service that asks for one.

In: Services and nodes. Out: load balancers, their addresses in the Services' status, and a finalizer. Promised: the
finalizer is added before the load balancer is created, so that every load balancer is deleted again. A Service with a
``loadBalancerClass`` is ignored. An error is reported by an Event, and the Service is retried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import PatchType
from kinformer.client.errors import ClientError, NotFound
from kinformer.controllerutil.finalizers import (
    add_finalizers_patch,
    has_finalizer,
    remove_finalizers_patch,
)
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, ControllerDisabled, Group, SyncError
from kinformer.meta import meta_namespace_key
from kinformer.models import V1LoadBalancerStatus, V1Node, V1Service, to_dict
from kinformer.record import NORMAL, WARNING
from kinformer.workqueue import ItemExponentialFailureRateLimiter
from kinformer_controllers.servicelb.hosts import (
    FINALIZER,
    HostUpdater,
    eligible_nodes,
    is_worth_a_sync,
    needs_cleanup,
    needs_update,
    wants_load_balancer,
)
from kinformer_controllers.servicelb.spec import ServiceLBOptions
from kinformer_controllers.shared.cloud.interface import ImplementedElsewhere, LoadBalancers, RetryLater
from kinformer_controllers.shared.cloud.loading import cloud_named

__all__ = ("ServiceLBController", "make_controller")

log = get_logger(__name__)

COMPONENT: Final = "service-controller"
#: The first and the longest delay before a failed Service is retried, in seconds.
_FIRST_RETRY, _LAST_RETRY = 5.0, 300.0
_ALL_NODES: Final = "nodes"
_THE_FINALIZER: Final = "load balancer cleanup finalizer"


def make_controller(context: ControllerContext) -> Group:
    """
    The entry point of the controller; its options are :class:`.ServiceLBOptions`.

    :raises ControllerDisabled: if there is no cloud, or the cloud has no load balancers
    :raises OptionError: if no package offers the cloud
    """
    cloud = cloud_named(context.read(ServiceLBOptions).cloud_provider)
    if cloud.load_balancers is None:
        raise ControllerDisabled(f"the cloud {cloud.name} has no load balancers")
    return ServiceLBController(context, cloud.load_balancers).group


class ServiceLBController:
    """Syncs Services and nodes. Each has its own queue and workers."""

    def __init__(self, context: ControllerContext, balancers: LoadBalancers) -> None:
        options = context.read(ServiceLBOptions)
        informers = context.informers
        recorder = context.recorder(COMPONENT)
        self._clock = clock = context.clock
        self._balancers, self._cluster, self._recorder = balancers, options.cluster_name, recorder
        self._server = context.client.resource(V1Service)
        services, nodes = informers.informer_for(V1Service), informers.informer_for(V1Node)
        self._cached, self._nodes = services.indexer, nodes.indexer
        #: The Services that have a load balancer, as far as this process knows.
        self.known: dict[str, V1Service] = {}
        limiter: Any = ItemExponentialFailureRateLimiter(_FIRST_RETRY, _LAST_RETRY)
        self.services = Controller(
            "service",
            self.sync,
            workers=options.concurrent_service_syncs,
            queue_name="service",
            limiter=limiter,
            clock=clock,
        )
        self.nodes = Controller("service-nodes", self.sync_nodes, queue_name="node", clock=clock)
        self.services.watch(services, _concerns).wait_for(nodes)
        queue_nodes = self._queue_nodes
        self.nodes.handle(nodes, ResourceEventHandlerFuncs(queue_nodes, self._node_changed, queue_nodes))
        self.nodes.wait_for(services)
        self._hosts = HostUpdater(balancers, self._cluster, recorder, clock, at_once=options.concurrent_service_syncs)
        self.group = Group(self.services, self.nodes)

    async def sync(self, key: str) -> float | None:
        """
        Sync the load balancer of one Service.

        :return: seconds until the next try, if the cloud asks for this; otherwise None
        :raises SyncError: if a call to the cloud fails, or the server refuses a write
        """
        service, known = self._cached.get_by_key(key), self.known.get(key)
        if known is not None and (service is None or service.metadata.uid != known.metadata.uid):
            try:
                await self._delete_unseen(known)
            except SyncError as error:
                if (seconds := _asked_for(error)) is not None:
                    return seconds
                raise
            del self.known[key]
        if service is None:
            self._hosts.forget(key)
            return None
        self.known[key] = service
        try:
            if not wants_load_balancer(service) or needs_cleanup(service):
                await self._delete(service)
                self.known.pop(key, None)
                self._hosts.forget(key)
            else:
                await self._ensure(service)
        except Exception as error:
            self._recorder.event(service, WARNING, "SyncLoadBalancerFailed", f"Error syncing load balancer: {error}")
            if (seconds := _asked_for(error)) is not None:
                return seconds
            raise
        return None

    async def sync_nodes(self, _: str) -> None:
        """Update the nodes of all load balancers. If an update fails, its Service is queued."""
        nodes = eligible_nodes(self._nodes.list())
        for key in await self._hosts.update_all(list(self.known.values()), nodes):
            self.services.queue.add(key)

    async def _ensure(self, service: V1Service) -> None:
        self._recorder.event(service, NORMAL, "EnsuringLoadBalancer", "Ensuring load balancer")
        if not has_finalizer(service, FINALIZER):
            # A load balancer that is made for a Service that is gone would stay if this process ended now.
            patch = add_finalizers_patch(service, FINALIZER)
            await self._patch(service, patch, f"add {_THE_FINALIZER}", may_be_gone=False)
        nodes = eligible_nodes(self._nodes.list())
        if not nodes:
            message = "There are no available nodes for LoadBalancer"
            self._recorder.event(service, WARNING, "UnAvailableLoadBalancer", message)
        self._hosts.note(service, nodes)
        try:
            status = await self._balancers.ensure_load_balancer(self._cluster, service, nodes)
        except ImplementedElsewhere:
            return
        except Exception as error:
            raise SyncError(f"failed to ensure load balancer: {error}") from error
        self._recorder.event(service, NORMAL, "EnsuredLoadBalancer", "Ensured load balancer")
        await self._write_status(service, status)

    async def _delete(self, service: V1Service) -> None:
        try:
            there = await self._balancers.get_load_balancer(self._cluster, service)
        except Exception as error:
            raise SyncError(f"failed to check if load balancer exists before cleanup: {error}") from error
        if there is not None:
            self._recorder.event(service, NORMAL, "DeletingLoadBalancer", "Deleting load balancer")
            try:
                await self._balancers.ensure_load_balancer_deleted(self._cluster, service)
            except ImplementedElsewhere:
                log.debug("load_balancer_implemented_elsewhere", service=meta_namespace_key(service))
            except Exception as error:
                raise SyncError(f"failed to delete load balancer: {error}") from error
        # The status is cleared before the finalizer is removed, because a deleted Service is gone after that.
        await self._write_status(service, V1LoadBalancerStatus())
        if has_finalizer(service, FINALIZER):
            await self._patch(service, remove_finalizers_patch(service, FINALIZER), f"remove {_THE_FINALIZER}")
        self._recorder.event(service, NORMAL, "DeletedLoadBalancer", "Deleted load balancer")

    async def _delete_unseen(self, service: V1Service) -> None:
        """Delete the load balancer of a Service that was deleted although it had the finalizer, or had none."""
        if not wants_load_balancer(service):
            return
        self._recorder.event(service, NORMAL, "DeletingLoadBalancer", "Deleting load balancer")
        try:
            await self._balancers.ensure_load_balancer_deleted(self._cluster, service)
        except Exception as error:
            message = f"Error deleting load balancer: {error}"
            self._recorder.event(service, WARNING, "DeleteLoadBalancerFailed", message)
            raise SyncError(message) from error
        self._recorder.event(service, NORMAL, "DeletedLoadBalancer", "Deleted load balancer")

    async def _write_status(self, service: V1Service, status: V1LoadBalancerStatus) -> None:
        current = service.status.load_balancer if service.status is not None else None
        if _ingress(current) == _ingress(status):
            return
        wanted: dict[str, Any] = to_dict(status) if status.ingress else {"ingress": None}
        patch = {"metadata": {"uid": service.metadata.uid}, "status": {"loadBalancer": wanted}}
        await self._patch(service, patch, "update load balancer status")

    async def _patch(self, service: V1Service, patch: dict[str, Any], what: str, *, may_be_gone: bool = True) -> None:
        """
        Write a Service's status or finalizers.

        :param what: what this does, for the error, in Kubernetes' words
        :param may_be_gone: whether it is no error if the Service does not exist any more
        :raises SyncError: if the server refuses
        """
        meta = service.metadata
        try:
            await self._server.patch(
                meta.name, patch, meta.namespace, patch_type=PatchType.STRATEGIC, subresource="status"
            )
        except ClientError as error:
            if isinstance(error, NotFound) and may_be_gone:
                log.debug("service_gone", service=meta_namespace_key(service))
            else:
                raise SyncError(f"failed to {what}: {error}") from error

    def _queue_nodes(self, _: Any) -> None:
        self.nodes.queue.add(_ALL_NODES)

    def _node_changed(self, old: V1Node, new: V1Node) -> None:
        if is_worth_a_sync(old, new):
            self._queue_nodes(new)


def _concerns(old: V1Service | None, new: V1Service | None) -> bool:
    if old is None or new is None:
        found = new if new is not None else old
        return found is not None and (new is None or wants_load_balancer(found) or needs_cleanup(found))
    return needs_update(old, new) or needs_cleanup(new)


def _asked_for(error: Exception) -> float | None:
    """The seconds after which a cloud wants to be asked again; None if it does not say."""
    cause = error.__cause__
    return cause.seconds if isinstance(cause, RetryLater) and cause.seconds > 0 else None


def _ingress(status: Any) -> Sequence[Any]:
    return (status.ingress if status is not None else None) or ()
