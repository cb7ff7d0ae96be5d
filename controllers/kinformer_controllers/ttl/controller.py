"""The TTL controller, as kube-controller-manager has it.

In: nodes. Out: the annotation ``node.alpha.kubernetes.io/ttl`` of each, in seconds, by how many there are. A node whose
cluster has grown is written with its next change, as in Kubernetes: kubelets report every few seconds anyway, and the
writes of thousands of nodes are spread by that.
"""

from __future__ import annotations

import re
from typing import Any, Final

from kinformer.client import Client
from kinformer.client.errors import NotFound
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1Node
from kinformer_controllers.ttl.steps import Sizes

__all__ = ("ANNOTATION", "TtlController", "make_controller")

ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"
_WORKERS: Final = 5
_NUMBER: Final = re.compile(r"[+-]?\d+", re.ASCII)


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
        """Write a node's annotation if it says something else."""
        node = self._nodes.get_by_key(name)
        if node is None:
            return
        there = (node.metadata.annotations or {}).get(ANNOTATION, "")
        wanted = self.sizes.seconds
        if _NUMBER.fullmatch(there) and int(there) == wanted:
            return
        try:
            await self._server.patch(name, {"metadata": {"annotations": {ANNOTATION: str(wanted)}}})
        except NotFound:
            return  # the cache has yet to hear of it


class NodeHandler:
    """
    Counts nodes, and has each of their changes looked at.

    :param add: takes the names of nodes to look at
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
