"""The cloud node lifecycle controller: nodes whose machine is gone are deleted, those that are shut down are tainted.

In: nodes that are not ready, and what the cloud says of their instances. Out: deletions, and the shutdown taint, put
on and taken off. Promised: a node goes only if the cloud says that its instance is gone; an error says nothing. A node
that was made anew under the same name stays.
"""

from __future__ import annotations

from typing import Final

from kinformer.client import Client, DeleteOptions, Preconditions
from kinformer.client.errors import ClientError, Conflict, NotFound
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, ControllerDisabled
from kinformer.models import V1Node, V1Taint
from kinformer.operator.conditions import get_condition
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.cloudnodelifecycle.options import CloudNodeLifecycleOptions
from kinformer_controllers.shared.cloud.interface import Instances
from kinformer_controllers.shared.cloud.loading import cloud_named
from kinformer_controllers.shared.nodes.taint_writer import NodeWriter

__all__ = ("CloudNodeLifecycleController", "make_controller")

log = get_logger(__name__)

COMPONENT: Final = "cloud-node-lifecycle-controller"
SHUTDOWN: Final = V1Taint(key="node.cloudprovider.kubernetes.io/shutdown", effect="NoSchedule")
_ALL_NODES: Final = "nodes"


def make_controller(context: ControllerContext) -> Controller:
    """
    The entry point of the controller; its options are :class:`.CloudNodeLifecycleOptions`.

    :raises ControllerDisabled: if there is no cloud, or it does not tell of instances
    :raises OptionError: if the cloud is not known
    """
    options = context.read(CloudNodeLifecycleOptions)
    cloud = cloud_named(options.cloud_provider)
    if cloud.instances is None:
        raise ControllerDisabled(f"the cloud {cloud.name} does not tell of instances")
    return CloudNodeLifecycleController(
        context.client,
        context.informers,
        context.recorder(COMPONENT),
        cloud.instances,
        period=options.node_monitor_period,
        clock=context.clock,
    ).controller


class CloudNodeLifecycleController:
    """
    :param period: seconds between two looks at all nodes
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        recorder: EventRecorder,
        instances: Instances,
        *,
        period: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or RealClock()
        self._instances, self._recorder, self._period = instances, recorder, period
        self._server, self._writer = client.resource(V1Node), NodeWriter(client, clock)
        nodes = informers.informer_for(V1Node)
        self._nodes = nodes.indexer
        self.controller = Controller("cloud-node-lifecycle", self.sync, clock=clock).wait_for(nodes)
        self.controller.queue.add(_ALL_NODES)

    async def sync(self, _: str) -> float:
        """
        Look at all nodes.

        :return: seconds until the next look
        """
        for node in self._nodes.list():
            try:
                await self._look_at(node)
            except Exception as error:  # whatever a cloud raises, the other nodes are to be looked at
                log.error("node_not_looked_at", node=node.metadata.name, error=str(error))
        return self._period

    async def _look_at(self, node: V1Node) -> None:
        name = node.metadata.name
        conditions = node.status.conditions if node.status is not None else None
        ready = get_condition(conditions, "Ready")
        if ready is not None and ready.status == "True":
            await self._writer.remove_taints(name, SHUTDOWN, cached=node)
        elif not await self._instances.instance_exists(node):
            await self._delete(node)
        elif await self._instances.instance_shutdown(node):
            await self._writer.add_taints(name, SHUTDOWN)

    async def _delete(self, node: V1Node) -> None:
        name = node.metadata.name
        log.info("deleting_node", node=name, why="it does not exist in the cloud")
        message = f"Deleting node {name} because it does not exist in the cloud provider"
        self._recorder.event(node, NORMAL, "DeletingNode", message)
        try:
            await self._server.delete(name, options=DeleteOptions(preconditions=Preconditions(uid=node.metadata.uid)))
        except (NotFound, Conflict):
            return
        except ClientError as error:
            self._recorder.event(node, WARNING, "DeletingNodeFailed", f"Failed deleting node {name}: {error}")
            raise
