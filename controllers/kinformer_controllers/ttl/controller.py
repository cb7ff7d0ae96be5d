"""The TTL controller, as kube-controller-manager has it.

In: nodes. Out: the annotation ``node.alpha.kubernetes.io/ttl`` of each node, in seconds; its value depends on the
number of nodes. When the cluster has grown, a node is written with its next change, as in Kubernetes: kubelets report
every few seconds anyway, so the writes of thousands of nodes are spread over time.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.client import Client
from kinformer.client.errors import NotFound
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, ControllerContext
from kinformer.meta.integers import read_integer
from kinformer.models import V1Node
from kinformer_controllers.ttl.steps import Sizes

__all__ = ("ANNOTATION", "TtlController", "make_controller")

ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"
_WORKERS: Final = 5


def make_controller(context: ControllerContext) -> Controller:
    """The entry point ``ttl``. It has no options."""
    return TtlController(context.client, context.informers, clock=context.clock).controller


class TtlController:
    """Keeps one annotation of nodes."""

    def __init__(self, client: Client, informers: SharedInformerFactory, *, clock: Clock | None = None) -> None:
        self._server = client.resource(V1Node)
        self.sizes = Sizes()
        nodes = informers.informer_for(V1Node)
        self._nodes = nodes.indexer
        self.controller = Controller(
            "ttl-controller", self.sync, workers=_WORKERS, queue_name="ttlcontroller", clock=clock or RealClock()
        )
        self.controller.handle(nodes, NodeHandler(self.controller.queue.add, self.sizes))

    async def sync(self, name: str) -> None:
        """Write a node's annotation, if its value differs."""
        node = self._nodes.get_by_key(name)
        if node is None:
            return
        there = (node.metadata.annotations or {}).get(ANNOTATION, "")
        wanted = self.sizes.seconds
        if read_integer(there) == wanted:
            return
        try:
            await self._server.patch(name, {"metadata": {"annotations": {ANNOTATION: str(wanted)}}})
        except NotFound:
            return  # the node is gone, and the cache does not show this yet


class NodeHandler:
    """
    The event handler for nodes. It counts nodes, and queues each changed one.

    :param add: called with the name of each changed node
    """

    def __init__(self, add: Any, sizes: Sizes) -> None:
        self._add = add
        self._sizes = sizes

    def on_add(self, node: V1Node, is_in_initial_list: bool, /) -> None:
        self._sizes.change(1)
        self._add(node.metadata.name)

    def on_update(self, old: V1Node, new: V1Node, /) -> None:
        self._add(new.metadata.name)

    def on_delete(self, obj: Any, /) -> None:
        self._sizes.change(-1)
