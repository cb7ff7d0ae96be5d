"""The cloud node lifecycle controller: deletes nodes whose instance is gone, and taints nodes that are shut down.

In: nodes that are not ready, and the state of their instances in the cloud. Out: deletions of nodes, and the shutdown
taint, which is added and removed. Promised: a node is deleted only if the cloud says that its instance does not exist;
an error of the cloud deletes nothing. A new node with the same name is not deleted.
"""

from __future__ import annotations

from typing import Final

from kinformer.client.errors import ClientError, NotFound
from kinformer.controllerutil.conditions import get_condition
from kinformer.controllerutil.writing import delete_same
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, ControllerDisabled
from kinformer.models import V1Node, V1Taint
from kinformer.record import NORMAL, WARNING
from kinformer_controllers.cloudnodelifecycle.spec import CloudNodeLifecycleOptions
from kinformer_controllers.shared.cloud.interface import Instances
from kinformer_controllers.shared.cloud.loading import cloud_named
from kinformer_controllers.shared.taints import NodeWriter

__all__ = ("CloudNodeLifecycleController", "make_controller")

log = get_logger(__name__)

COMPONENT: Final = "cloud-node-lifecycle-controller"
SHUTDOWN: Final = V1Taint(key="node.cloudprovider.kubernetes.io/shutdown", effect="NoSchedule")
_ALL_NODES: Final = "nodes"


def make_controller(context: ControllerContext) -> Controller:
    """
    The entry point of the controller; its options are :class:`.CloudNodeLifecycleOptions`.

    :raises ControllerDisabled: if there is no cloud, or the cloud has no information about instances
    :raises OptionError: if no package offers the cloud
    """
    cloud = cloud_named(context.read(CloudNodeLifecycleOptions).cloud_provider)
    if cloud.instances is None:
        raise ControllerDisabled(f"the cloud {cloud.name} has no information about instances")
    return CloudNodeLifecycleController(context, cloud.instances).controller


class CloudNodeLifecycleController:
    """Checks all nodes periodically."""

    def __init__(self, context: ControllerContext, instances: Instances) -> None:
        clock = context.clock
        self._instances, self._recorder = instances, context.recorder(COMPONENT)
        self._period = context.read(CloudNodeLifecycleOptions).node_monitor_period
        self._server, self._writer = context.client.resource(V1Node), NodeWriter(context.client, clock)
        nodes = context.informers.informer_for(V1Node)
        self._nodes = nodes.indexer
        self.controller = Controller("cloud-node-lifecycle", self.sync, clock=clock).wait_for(nodes)
        self.controller.queue.add(_ALL_NODES)

    async def sync(self, _: str) -> float:
        """
        Check all nodes.

        :return: seconds until the next check
        """
        for node in self._nodes.list():
            try:
                await self._check(node)
            except Exception as error:  # a cloud may raise any type; the other nodes must be checked, too
                log.error("node_not_checked", node=node.metadata.name, error=str(error))
        return self._period

    async def _check(self, node: V1Node) -> None:
        name = node.metadata.name
        if _is_ready(node):
            await self._writer.remove_taints(name, SHUTDOWN, cached=node)
        elif not await self._instances.instance_exists(node):
            await self._delete(node)
        elif await self._instances.instance_shutdown(node):
            await self._writer.add_taints(name, SHUTDOWN)

    async def _delete(self, node: V1Node) -> None:
        name = node.metadata.name
        try:
            if _is_ready(await self._server.get(name)):
                return  # the cache does not show it yet, and the cloud may be wrong
        except NotFound:
            return
        log.info("deleting_node", node=name, why="it does not exist in the cloud")
        message = f"Deleting node {name} because it does not exist in the cloud provider"
        self._recorder.event(node, NORMAL, "DeletingNode", message)
        try:
            await delete_same(self._server, node)
        except ClientError as error:
            self._recorder.event(node, WARNING, "DeletingNodeFailed", f"Failed deleting node {name}: {error}")
            raise


def _is_ready(node: V1Node) -> bool:
    ready = get_condition(node.status.conditions if node.status is not None else None, "Ready")
    return ready is not None and ready.status == "True"
