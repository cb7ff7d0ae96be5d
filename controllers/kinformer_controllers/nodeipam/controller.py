"""The node IPAM controller, as kube-controller-manager has it, with the allocator ``RangeAllocator``.

In: nodes. Out: ``spec.podCIDR`` and ``spec.podCIDRs`` of nodes that have none. Promised: no two nodes get the same part
of the cluster's network. So the parts of existing nodes are noted before anything is allocated, and if it is not known
whether a write succeeded, its part stays reserved for the node.
"""

from __future__ import annotations

from typing import Final

from kinformer.client.errors import (
    ClientError,
    ConnectionLost,
    InternalError,
    NotFound,
    ServerTimeout,
    ServerUnreachable,
    Timeout,
)
from kinformer.controllerutil.handlers import ChangeHandler
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, ControllerDisabled, SyncError
from kinformer.models import V1Node
from kinformer_controllers.nodeipam.cidr_set import NoCIDRLeft
from kinformer_controllers.nodeipam.pools import BadPodCIDR, Holding, Pools, ranges_of, service_networks
from kinformer_controllers.nodeipam.spec import NodeIpamOptions
from kinformer_controllers.shared.nodes import record_status_change

__all__ = ("NodeIpamController",)

log = get_logger(__name__)

#: The source component of its Events.
COMPONENT: Final = "cidrAllocator"
#: As in Kubernetes.
_WORKERS, _TRIES = 30, 3
#: After these errors, the write may have succeeded.
_UNCERTAIN: Final = (ConnectionLost, InternalError, ServerTimeout, ServerUnreachable, Timeout)


class NodeIpamController:
    """
    Assigns parts of the cluster's networks to nodes.

    :raises ControllerDisabled: if ``--allocate-node-cidrs`` is not given
    :raises OptionError: if options contradict each other
    """

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(NodeIpamOptions)
        if not options.allocate_node_cidrs:
            raise ControllerDisabled("--allocate-node-cidrs is not given")
        self._server = context.client.resource(V1Node)
        self._recorder = context.recorder(COMPONENT)
        self.pools = Pools(ranges_of(options), service_networks(options))
        nodes = context.informers.informer_for(V1Node)
        self._nodes = nodes.indexer
        self.controller = Controller(
            "node-ipam-controller",
            self.sync,
            workers=_WORKERS,
            queue_name="cidrallocator_node",
            clock=context.clock,
        )
        self.controller.handle(nodes, ChangeHandler(self._node_changed))

    async def sync(self, name: str) -> None:
        """Assign parts to a node, if it has none."""
        node = self._nodes.get_by_key(name)
        if node is None or node.metadata.deletion_timestamp is not None:
            return
        uid = node.metadata.uid
        if node.spec.pod_cidrs:
            self.pools.hold(uid, node.spec.pod_cidrs)
            return
        holding = self.pools.held.get(uid)
        if holding is None:
            try:
                holding = self.pools.allocate(uid)
            except NoCIDRLeft as error:
                record_status_change(self._recorder, node, "CIDRNotAvailable")
                raise SyncError(f"node {name} gets no pod CIDR: {error}") from None
        if not holding.written:  # otherwise the cache is only old
            await self._write(node, holding)

    async def _write(self, node: V1Node, holding: Holding) -> None:
        meta, texts = node.metadata, holding.texts()
        patch = {"metadata": {"uid": meta.uid}, "spec": {"podCIDR": texts[0], "podCIDRs": texts}}
        failure: ClientError | None = None
        for _ in range(_TRIES):
            try:
                await self._server.patch(meta.name, patch)
            except NotFound:
                self._drop(meta.uid, holding)
                return
            except ClientError as error:
                failure = error
            else:
                holding.written = True
                log.info("pod_cidrs_set", node=meta.name, cidrs=texts)
                return
        assert failure is not None
        record_status_change(self._recorder, node, "CIDRAssignmentFailed")
        if not isinstance(failure, _UNCERTAIN):
            self._drop(meta.uid, holding)
        raise failure

    def _drop(self, uid: str, holding: Holding) -> None:
        """Release parts that were not written, unless the node was deleted or has got other parts since."""
        if self.pools.held.get(uid) is holding and not holding.written:
            self.pools.release(uid)

    def _node_changed(self, old: V1Node | None, new: V1Node | None) -> None:
        """Note the parts of a node at once, before a worker allocates any."""
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            self.pools.release(old.metadata.uid)
        if new is None:
            return
        if new.spec.pod_cidrs:
            try:
                self.pools.hold(new.metadata.uid, new.spec.pod_cidrs)
            except BadPodCIDR as error:
                log.error("pod_cidrs_invalid", node=new.metadata.name, error=str(error))
        self.controller.queue.add(new.metadata.name)
