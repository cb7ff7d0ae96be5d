"""The TTL controller, as kube-controller-manager has it.

In: nodes. Out: the annotation ``node.alpha.kubernetes.io/ttl`` of each node: for how many seconds its kubelet may cache
Secrets and ConfigMaps. The value depends on the number of nodes. When the cluster has grown, a node is written with its
next change, as in Kubernetes: kubelets report every few seconds anyway, so the writes of thousands of nodes are spread
over time.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from kinformer.client.errors import NotFound
from kinformer.manager import Controller, ControllerContext
from kinformer.meta.integers import read_integer
from kinformer.models import V1Node

__all__ = ("ANNOTATION", "STEPS", "Sizes", "Step", "TtlController")

ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"
_WORKERS: Final = 5


class Step(NamedTuple):
    """
    One step of the table.

    :param least: with fewer nodes, the step before this one applies
    :param most: with more nodes, the step after this one applies
    :param seconds: how long kubelets may cache objects
    """

    least: float
    most: float
    seconds: int


#: The steps overlap. So if the size of a cluster goes up and down a little, its nodes are not all written each time.
STEPS: Final = (
    Step(0, 100, 0),
    Step(90, 500, 15),
    Step(450, 1000, 30),
    Step(900, 2000, 60),
    Step(1800, math.inf, 300),
)


class Sizes:
    """The number of nodes in a cluster, and the step that applies. As an event handler, it counts nodes."""

    def __init__(self) -> None:
        self.nodes = 0
        self._step = 0

    @property
    def seconds(self) -> int:
        """How long kubelets may cache objects, in seconds."""
        return STEPS[self._step].seconds

    def change(self, by: int) -> None:
        """
        Count nodes that were added or deleted.

        :param by: their number; negative if they were deleted
        """
        self.nodes += by
        while self.nodes > STEPS[self._step].most:
            self._step += 1
        while self.nodes < STEPS[self._step].least:
            self._step -= 1

    def on_add(self, node: V1Node, is_in_initial_list: bool, /) -> None:
        self.change(1)

    def on_update(self, old: V1Node, new: V1Node, /) -> None:
        """Do nothing: the number stays."""

    def on_delete(self, obj: Any, /) -> None:
        self.change(-1)


class TtlController:
    """Keeps one annotation of nodes."""

    def __init__(self, context: ControllerContext) -> None:
        nodes = context.informers.informer_for(V1Node)
        self._nodes, self._server = nodes.indexer, context.client.resource(V1Node)
        self.sizes = Sizes()
        self.controller = Controller(
            "ttl-controller", self.sync, workers=_WORKERS, queue_name="ttlcontroller", clock=context.clock
        )
        # The sizes come first: no node is synced before all are counted.
        self.controller.handle(nodes, self.sizes).watch(nodes)

    async def sync(self, name: str) -> None:
        """Write a node's annotation, if its value differs."""
        node = self._nodes.get_by_key(name)
        if node is None:
            return
        wanted = self.sizes.seconds
        if read_integer((node.metadata.annotations or {}).get(ANNOTATION, "")) == wanted:
            return
        try:
            await self._server.patch(name, {"metadata": {"annotations": {ANNOTATION: str(wanted)}}})
        except NotFound:
            return  # the node is gone, and the cache does not show this yet
