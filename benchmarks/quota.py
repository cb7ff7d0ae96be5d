"""The cost of recounting quotas.

- ``quota``: one quota in a namespace with 10,000 pods. It is measured with a cache that was filled from recorded
  pods, and with an informer that has listed them over HTTP from an embedded server in another process. The first
  recount looks at every pod; later ones use what was remembered for each version of a pod. There are two more cases:
  pods whose statuses another controller has read before, and pods of which no two are alike;
- ``quotas``: all quotas of 1,000 namespaces with 100,000 pods in all, and the longest time that the event loop was
  blocked.

The benchmark of the webhook for quotas over many namespaces is in :mod:`benchmarks.quota_webhook`.

The pods were recorded from a cluster: they come from a few templates, have 0.9 KiB of JSON each, and most are running.
Python's cyclic garbage collector is off, as in a controller manager. A first recount cannot be repeated with the same
pods, so each has new ones.
"""

from __future__ import annotations

import gc
import gzip
import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from kinformer.bench.measure import Stopwatch, feel_pulse
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import api_server, at_once
from kinformer.cache import NAMESPACE_INDEX, Indexer, ListWatch, SharedIndexInformer, namespace_index_func
from kinformer.client import Client, connect
from kinformer.meta import accessor_for
from kinformer.models import (
    V1Namespace,
    V1ObjectMeta,
    V1Pod,
    V1ResourceQuota,
    V1ResourceRequirements,
    decode,
    detacher_for,
    encode,
    from_dict,
)
from kinformer_controllers.resourcequota.recount import Recounter
from kinformer_controllers.shared.quota.pods import PodEvaluator
from kinformer_controllers.shared.quota.registry import Registry
from kinformer_controllers.shared.quota.sources import InformerSource

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "golden" / "streams" / "pods_list.json.gz"
HARD = {"pods": "1k", "requests.cpu": "1k", "requests.memory": "10Ti"}
#: How often a first recount is measured, each time with new objects.
ROUNDS = 7


class Pods:
    """An informer's cache of pods, without the informer."""

    name = "pods"
    has_synced = True
    pending = queued = 0

    def __init__(self, count: int, namespaces: int) -> None:
        samples = json.loads(gzip.decompress(RECORDED.read_bytes()))["items"]
        self.indexer: Indexer[V1Pod] = Indexer(
            accessor_for(V1Pod), {NAMESPACE_INDEX: lambda pod: (pod.metadata.namespace,)}
        )
        detach = detacher_for(V1Pod)
        for number in range(count):
            sample = samples[number % len(samples)]
            meta = sample["metadata"]
            meta["name"] = meta["uid"] = f"pod-{number}"
            meta["namespace"], meta["resourceVersion"] = f"ns-{number % namespaces}", str(number + 1)
            pod = decode(V1Pod, json.dumps(sample))
            detach(pod)
            self.indexer.add(pod)


class Quotas:
    """Stands for the client of quotas: it keeps the statuses that are written."""

    def __init__(self) -> None:
        self.written: dict[str, V1ResourceQuota] = {}

    async def update_status(self, quota: V1ResourceQuota) -> V1ResourceQuota:
        self.written[f"{quota.metadata.namespace}/{quota.metadata.name}"] = quota
        return quota


def make_quota(namespace: str) -> V1ResourceQuota:
    metadata = {"name": "q", "namespace": namespace, "resourceVersion": "1"}
    return from_dict(V1ResourceQuota, {"metadata": metadata, "spec": {"hard": HARD}})


AS_RECORDED, READ, UNLIKE, LISTED = "as recorded", "whose statuses were read", "no two alike", "listed over HTTP"


def _read(pod: V1Pod, number: int) -> None:
    assert pod.status is not None


def _make_unlike(pod: V1Pod, number: int) -> None:
    spec = pod.spec
    spec.containers[0].resources = V1ResourceRequirements(requests={"cpu": f"{number + 1}m", "memory": "16Mi"})
    fresh = decode(V1Pod, encode(pod))
    V1Pod.__lazy_fields__["spec"].poke(pod, V1Pod.__lazy_fields__["spec"].peek(fresh))


async def recount(which: str, pods: int) -> Figures:
    if which == LISTED:
        return await _recount_listed(pods)
    change = {READ: _read, UNLIKE: _make_unlike}.get(which)

    def filled() -> InformerSource:
        cache = Pods(pods, 1)
        if change is not None:
            for number, pod in enumerate(cache.indexer.list()):
                change(pod, number)
        return InformerSource(cache)  # type: ignore[arg-type]  # it has all of an informer that is used

    return await _recount(filled)


async def _recount_listed(pods: int) -> Figures:
    with api_server() as kubeconfig:
        async with connect(kubeconfig) as client, anyio.create_task_group() as tasks:
            await _create(client, Pods(pods, 1).indexer.list())
            sources = []
            for _ in range(ROUNDS):
                informer = SharedIndexInformer(
                    ListWatch(client.resource(V1Pod)),
                    V1Pod,
                    indexers={NAMESPACE_INDEX: namespace_index_func(accessor_for(V1Pod))},
                )
                tasks.start_soon(informer.run)
                await informer.wait_synced()
                sources.append(InformerSource(informer))
            figures = await _recount(sources.pop)
            tasks.cancel_scope.cancel()
    return figures


async def _recount(source: Callable[[], InformerSource]) -> Figures:
    gc.disable()
    first, later = [], []
    for _ in range(ROUNDS):
        quotas: Any = Quotas()
        recounter = Recounter(quotas, Registry([PodEvaluator(source())]), None)
        quota = make_quota("ns-0")
        for times in (first, later, later, later):
            watch = Stopwatch()
            await recounter.recount(quota)
            times.append(watch.wall * 1000)
        assert quotas.written["ns-0/q"].status.used["pods"]
    return {
        "first ms": round(statistics.median(first), 1),
        "least": round(min(first), 1),
        "most": round(max(first), 1),
        "then ms": round(statistics.median(later), 1),
    }


async def _create(client: Client, pods: list[V1Pod]) -> None:
    """Create pods, and write their statuses, most of which say that the pod runs."""
    await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name="ns-0")))
    resource = client.resource(V1Pod)

    async def create(pod: V1Pod) -> None:
        status, pod.status = pod.status, None
        meta = pod.metadata
        pod.metadata = V1ObjectMeta(name=meta.name, namespace=meta.namespace, labels=meta.labels)
        created = await resource.create(pod)
        created.status = status
        await resource.update_status(created)

    await at_once(create, pods)


async def recount_all(pods: int, namespaces: int) -> Figures:
    gc.disable()
    evaluator = PodEvaluator(InformerSource(Pods(pods, namespaces)))  # type: ignore[arg-type]  # as above
    quotas: Any = Quotas()
    recounter = Recounter(quotas, Registry([evaluator]), None)
    every = [make_quota(f"ns-{number}") for number in range(namespaces)]
    figures: Figures = {}
    for what in ("first", "then"):
        queue = iter(every)

        async def work(queue: Iterator[V1ResourceQuota] = queue) -> None:
            for quota in queue:
                await recounter.recount(quota)
                # A controller's worker gives way to others between two keys, too.
                await anyio.lowlevel.checkpoint()

        async with feel_pulse() as pulse:
            watch = Stopwatch()
            async with anyio.create_task_group() as workers:
                for _ in range(5):
                    workers.start_soon(work)
            figures |= {f"{what} s": round(watch.wall, 2), f"{what} CPU s": round(watch.cpu, 2)}
        figures[f"{what}: longest block ms"] = round(pulse.longest * 1000, 1)
    return figures


CASES = {
    "quota": Case(
        "A recount of one quota",
        recount,
        each("which", (AS_RECORDED, READ, UNLIKE, LISTED), pods=10_000),
        each("which", (AS_RECORDED, READ, UNLIKE, LISTED), pods=100),
        ("first ms", "then ms"),
        lower_is_better=True,
    ),
    "quotas": Case(
        "A recount of all quotas",
        recount_all,
        each("pods", (100_000,), namespaces=1_000),
        each("pods", (1_000,), namespaces=10),
        ("first CPU s", "then CPU s"),
        lower_is_better=True,
    ),
}
