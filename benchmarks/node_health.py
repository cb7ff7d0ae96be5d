"""The controllers of nodes at scale, without a server: 5,000 nodes, and 10,000 pods that wait for their eviction.

    python -m benchmarks.node_health [--nodes N] [--pods N]

Two things are measured. The first is the CPU time of a pass of the node lifecycle controller over nodes that have not
changed, and the longest time that other tasks of the event loop wait during it. The second is the CPU time and the
memory of a pod that waits for its eviction.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import structlog

from kinformer.cache import NAMESPACE_INDEX, SharedIndexInformer
from kinformer.clock import FakeClock
from kinformer.manager import ControllerContext
from kinformer.models import (
    V1Node,
    V1NodeCondition,
    V1NodeSpec,
    V1NodeStatus,
    V1ObjectMeta,
    V1Pod,
    V1PodSpec,
    V1Taint,
    V1Toleration,
)
from kinformer_controllers.nodelifecycle.controller import NodeLifecycleController
from kinformer_controllers.tainteviction.controller import TaintEvictionController

PASSES = 10
NODES_WITH_PODS = 100


class _Current(SharedIndexInformer[Any]):
    """An informer that says that it is current. A pass over nodes waits for one that is not."""

    is_current = True


class Caches:
    """Informers that do not run. Their caches are filled directly."""

    def __init__(self) -> None:
        self._informers: dict[type[Any], SharedIndexInformer[Any]] = {}

    def informer_for(self, type_: type[Any]) -> SharedIndexInformer[Any]:
        if type_ not in self._informers:
            nothing: Any = SimpleNamespace(list=None, watch=None)
            indexers = {NAMESPACE_INDEX: lambda obj: obj.metadata.namespace}
            self._informers[type_] = _Current(nothing, type_, indexers=indexers)
        return self._informers[type_]


def node(number: int, clock: FakeClock, *taints: V1Taint) -> V1Node:
    name, now = f"node-{number}", clock.now()
    labels = {"topology.kubernetes.io/zone": f"zone-{number % 3}", "topology.kubernetes.io/region": "region"}
    meta = V1ObjectMeta(name=name, uid=name, labels=labels, resource_version="1", creation_timestamp=now)
    condition = V1NodeCondition(type="Ready", status="True", last_heartbeat_time=now, last_transition_time=now)
    return V1Node(
        metadata=meta, spec=V1NodeSpec(taints=list(taints) or None), status=V1NodeStatus(conditions=[condition])
    )


def pod(number: int) -> V1Pod:
    name = f"pod-{number}"
    tolerated = V1Toleration(key="k", operator="Exists", effect="NoExecute", toleration_seconds=300)
    return V1Pod(
        metadata=V1ObjectMeta(name=name, namespace="default", uid=name, resource_version="1"),
        spec=V1PodSpec(containers=[], node_name=f"node-{number % NODES_WITH_PODS}", tolerations=[tolerated]),
    )


def make_context(clock: FakeClock) -> ControllerContext:
    client: Any = SimpleNamespace(resource=lambda *_: None)
    caches: Any = Caches()
    return ControllerContext(client, caches, clock=clock)


async def passes(count: int) -> None:
    """Measure passes over all nodes, and how long other tasks of the event loop wait during a pass."""
    clock = FakeClock()
    context = make_context(clock)
    caches, controller = context.informers, NodeLifecycleController(context)
    for number in range(count):
        caches.informer_for(V1Node).indexer.add(node(number, clock))
    await controller.monitor.check()
    longest = 0.0

    async def look_on() -> None:
        nonlocal longest
        before = time.perf_counter()
        while True:
            await anyio.lowlevel.checkpoint()
            longest, before = max(longest, time.perf_counter() - before), time.perf_counter()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look_on)
        cpu = time.process_time()
        for _ in range(PASSES):
            await controller.monitor.check()
        cpu = (time.process_time() - cpu) / PASSES
        tasks.cancel_scope.cancel()
    print(f"a pass over {count:,} nodes: {cpu * 1e3:.1f} ms of CPU, {cpu / count * 1e6:.1f} µs a node")
    print(f"  of one core at the usual 5 s: {cpu / 5:.2%}; longest without a turn for others: {longest * 1e3:.1f} ms")


async def waiting(count: int) -> None:
    """Measure pods that begin to wait for their eviction, and that stop waiting when the taint is removed."""
    clock = FakeClock()
    context = make_context(clock)
    caches, eviction = context.informers, TaintEvictionController(context)
    queue, nodes = eviction.pods.queue, caches.informer_for(V1Node).indexer
    keys = [f"default/pod-{number}" for number in range(count)]
    for number in range(count):
        caches.informer_for(V1Pod).indexer.add(pod(number))

    async def look_at_all(*taints: V1Taint) -> float:
        for number in range(NODES_WITH_PODS):
            nodes.update(node(number, clock, *taints))
        began = time.process_time()
        for key in keys:
            after = await eviction.sync(key)
            if after is not None:
                queue.add_after(key, after)
        return (time.process_time() - began) / count * 1e6

    await look_at_all()
    taint = V1Taint(key="k", effect="NoExecute")
    cpu = await look_at_all(taint)
    assert len(eviction.waiting) == count
    let_off = await look_at_all()
    queue._waiting.clear()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    await look_at_all(taint)
    memory = (tracemalloc.get_traced_memory()[0] - before) / count
    tracemalloc.stop()
    timers = sum(timer.callback is not None for _, _, timer in clock._due)
    print(f"{count:,} pods that wait: {cpu:.1f} µs of CPU each to wait, {let_off:.1f} µs to be let off")
    print(f"  {memory:.0f} bytes each, {timers} timer in all")


async def main(nodes: int, pods: int) -> None:
    await passes(nodes)
    await waiting(pods)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10_000)
    arguments = parser.parse_args()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    anyio.run(main, arguments.nodes, arguments.pods)
