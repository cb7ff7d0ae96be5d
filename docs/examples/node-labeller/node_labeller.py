"""Labels nodes by what they are: how large, of which processor, with or without GPUs.

It runs sharded: of three replicas each labels a third of the nodes, and when one ends the others take its part over.
All that this needs is ``Manager(client, sharding=Sharding())``, or ``--shards 64`` on the command line; the controller
itself does not know of it. See :func:`main`.
"""

from __future__ import annotations

import os

import anyio

from kinformer.client import PatchType, connect
from kinformer.logs import configure_logging
from kinformer.manager import Controller, ControllerContext, Manager, Sharding
from kinformer.models import V1Node

PREFIX = "node.example.com/"
#: From how many cores on a node is called so.
SIZES = ((32, "large"), (8, "medium"), (0, "small"))


def cores_of(cpu: str) -> float:
    """``8``, ``7910m``."""
    return int(cpu[:-1]) / 1000 if cpu.endswith("m") else float(cpu)


def labels_of(node: V1Node) -> dict[str, str | None]:
    """The labels that a node is to have; None: it is not to have this one."""
    status = node.status
    capacity = (status.capacity if status is not None else None) or {}
    cores = cores_of(str(capacity.get("cpu", "0")))
    gpus = any(name.endswith("/gpu") and str(amount) != "0" for name, amount in capacity.items())
    info = status.node_info if status is not None else None
    return {
        f"{PREFIX}size": next(size for least, size in SIZES if cores >= least),
        f"{PREFIX}processor": info.architecture or None if info is not None else None,
        f"{PREFIX}gpu": "true" if gpus else None,
    }


def make_controller(context: ControllerContext) -> Controller:
    nodes = context.informers.informer_for(V1Node)
    client = context.client.resource(V1Node)

    async def sync(key: str) -> None:
        node = nodes.indexer.get_by_key(key)
        if node is None:
            return
        has = node.metadata.labels or {}
        wrong = {name: value for name, value in labels_of(node).items() if has.get(name) != value}
        if wrong:
            # A merge patch takes away what is null. All other labels are left to those who have set them.
            await client.patch(key, {"metadata": {"labels": wrong}}, patch_type=PatchType.MERGE)

    def concerns_labels(old: V1Node | None, new: V1Node | None) -> bool:
        """Kubelets write the status of their nodes all the time: most of that is no news."""
        if old is None or new is None:
            return new is not None
        return old.metadata.labels != new.metadata.labels or labels_of(old) != labels_of(new)

    return Controller("node-labeller", sync, workers=4, clock=context.clock).watch(nodes, concerns_labels)


async def main() -> None:
    """One replica, named after its pod."""
    configure_logging(logging_format="json")
    async with connect() as client:
        sharding = Sharding(group="node-labeller", namespace="node-labeller", identity=os.environ.get("POD_NAME", ""))
        await Manager(client, known={"node-labeller": make_controller}, sharding=sharding).run()


if __name__ == "__main__":
    anyio.run(main)
