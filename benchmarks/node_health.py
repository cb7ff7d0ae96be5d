"""The controllers of nodes at scale, without a server: 5,000 nodes, and 10,000 pods that wait for their eviction.

Two things are measured. The first is the CPU time of a pass of the node lifecycle controller over nodes that have not
changed, and the longest time that other tasks of the event loop wait during it. The second is the CPU time and the
memory of a pod that waits for its eviction.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from kinformer.bench.measure import Stopwatch, feel_pulse
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.cache import NAMESPACE_INDEX, IndexFunc, SharedIndexInformer, namespace_index_func
from kinformer.client.options import DEFAULT_OPTIONS
from kinformer.clock import FakeClock
from kinformer.manager import ControllerContext
from kinformer.meta import accessor_for
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
        self.client: Any = SimpleNamespace(resource=lambda *_: None, options=DEFAULT_OPTIONS)
        self._informers: dict[type[Any], SharedIndexInformer[Any]] = {}

    def informer_for(
        self, type_: type[Any], *, indexers: Mapping[str, IndexFunc[Any]] | None = None
    ) -> SharedIndexInformer[Any]:
        if type_ not in self._informers:
            nothing: Any = SimpleNamespace(list=None, watch=None)
            by_namespace = {NAMESPACE_INDEX: namespace_index_func(accessor_for(type_))}
            self._informers[type_] = _Current(nothing, type_, indexers=by_namespace)
        if indexers:
            self._informers[type_].add_indexers(indexers)
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
    caches: Any = Caches()
    return ControllerContext(caches.client, caches, clock=clock)


async def passes(nodes: int) -> Figures:
    """Measure passes over all nodes, and how long other tasks of the event loop wait during a pass."""
    clock = FakeClock()
    context = make_context(clock)
    caches, controller = context.informers, NodeLifecycleController(context)
    for number in range(nodes):
        caches.informer_for(V1Node).indexer.add(node(number, clock))
    await controller.monitor.check()
    async with feel_pulse() as pulse:
        watch = Stopwatch()
        for _ in range(PASSES):
            await controller.monitor.check()
        cpu = watch.cpu / PASSES
    return {
        "ms CPU/pass": round(cpu * 1e3, 1),
        "us CPU/node": round(cpu / nodes * 1e6, 1),
        "longest block ms": round(pulse.longest * 1e3, 1),
    }


async def waiting(pods: int) -> Figures:
    """Measure pods that begin to wait for their eviction, and that stop waiting when the taint is removed."""
    clock = FakeClock()
    context = make_context(clock)
    caches, eviction = context.informers, TaintEvictionController(context)
    queue, nodes = eviction.pods.queue, caches.informer_for(V1Node).indexer
    keys = [f"default/pod-{number}" for number in range(pods)]
    for number in range(pods):
        caches.informer_for(V1Pod).indexer.add(pod(number))

    async def look_at_all(*taints: V1Taint) -> float:
        for number in range(NODES_WITH_PODS):
            nodes.update(node(number, clock, *taints))
        watch = Stopwatch()
        for key in keys:
            after = await eviction.sync(key)
            if after is not None:
                queue.add_after(key, after)
        return watch.cpu / pods * 1e6

    await look_at_all()
    taint = V1Taint(key="k", effect="NoExecute")
    cpu = await look_at_all(taint)
    assert len(eviction.waiting) == pods
    let_off = await look_at_all()
    queue._waiting.clear()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    await look_at_all(taint)
    memory = (tracemalloc.get_traced_memory()[0] - before) / pods
    tracemalloc.stop()
    timers = sum(timer.callback is not None for _, _, timer in clock._due)
    return {
        "us CPU to wait": round(cpu, 1),
        "us CPU to be let off": round(let_off, 1),
        "bytes each": round(memory),
        "timers": timers,
    }


CASES = {
    "nodes-pass": Case(
        "A pass of the node lifecycle controller over nodes that have not changed",
        passes,
        each("nodes", (5_000,)),
        each("nodes", (500,)),
        ("us CPU/node",),
        lower_is_better=True,
    ),
    "evictions": Case(
        "Pods that wait for their eviction",
        waiting,
        each("pods", (10_000,)),
        each("pods", (1_000,)),
        ("us CPU to wait", "us CPU to be let off"),
        lower_is_better=True,
    ),
}
