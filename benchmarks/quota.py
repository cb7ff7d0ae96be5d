"""The cost of recounting quotas: ``python -m benchmarks.quota [recount] [full]``.

- ``recount``: one quota in a namespace with 10,000 pods. It is measured with a cache that was filled from recorded
  pods, and with an informer that has listed them over HTTP from an embedded server in another process. The first
  recount looks at every pod; later ones use what was remembered for each version of a pod. There are two more cases:
  pods whose statuses another controller has read before, and pods of which no two are alike;
- ``full``: all quotas of 1,000 namespaces with 100,000 pods in all, and the longest time that the event loop was
  blocked.

The benchmark of the webhook for quotas over many namespaces is ``benchmarks.quota_webhook``.

The pods were recorded from a cluster: they come from a few templates, have 0.9 KiB of JSON each, and most are running.
Python's cyclic garbage collector is off, as in a controller manager. A first recount cannot be repeated with the same
pods, so each has new ones.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import structlog

from benchmarks.servers import api_server
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
from kinformer_controllers.shared.quota import InformerSource, PodEvaluator, Registry

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "golden" / "streams" / "pods_list.json.gz"
HARD = {"pods": "1k", "requests.cpu": "1k", "requests.memory": "10Ti"}
#: How often a first recount is measured, each time with new objects.
ROUNDS = 7


class Pods:
    """An informer's cache of pods, without the informer."""

    name = "pods"
    has_synced = True
    pending = 0

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


async def recount(pods: int = 10_000) -> None:
    def read(pod: V1Pod, number: int) -> None:
        assert pod.status is not None

    def make_unlike(pod: V1Pod, number: int) -> None:
        spec = pod.spec
        spec.containers[0].resources = V1ResourceRequirements(requests={"cpu": f"{number + 1}m", "memory": "16Mi"})
        fresh = decode(V1Pod, encode(pod))
        V1Pod.__lazy_fields__["spec"].poke(pod, V1Pod.__lazy_fields__["spec"].peek(fresh))

    await _recount(f"{pods:,} pods", lambda: InformerSource(Pods(pods, 1)))  # type: ignore[arg-type]  # it is enough
    for label, change in (("whose statuses were read", read), ("no two alike", make_unlike)):

        def filled(change: Callable[[V1Pod, int], None] = change) -> InformerSource:
            cache = Pods(pods, 1)
            for number, pod in enumerate(cache.indexer.list()):
                change(pod, number)
            return InformerSource(cache)  # type: ignore[arg-type]  # as above

        await _recount(f"{pods:,} pods, {label}", filled)
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
            await _recount(f"{pods:,} pods, listed over HTTP", sources.pop)
            tasks.cancel_scope.cancel()


async def _recount(label: str, source: Callable[[], InformerSource]) -> None:
    first, later = [], []
    for _ in range(ROUNDS):
        quotas: Any = Quotas()
        recounter = Recounter(quotas, Registry([PodEvaluator(source())]), None)
        quota = make_quota("ns-0")
        for times in (first, later, later, later):
            began = time.perf_counter()
            await recounter.recount(quota)
            times.append((time.perf_counter() - began) * 1000)
        assert quotas.written["ns-0/q"].status.used["pods"]
    spread = f"{statistics.median(first):.1f} ms ({min(first):.1f} to {max(first):.1f})"
    print(f"recount of a quota over {label}: first {spread}, then {statistics.median(later):.1f} ms")


async def _create(client: Client, pods: list[V1Pod]) -> None:
    """Create pods, and write their statuses, most of which say that the pod runs."""
    await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name="ns-0")))
    resource = client.resource(V1Pod)
    waiting = iter(pods)

    async def work() -> None:
        for pod in waiting:
            status, pod.status = pod.status, None
            meta = pod.metadata
            pod.metadata = V1ObjectMeta(name=meta.name, namespace=meta.namespace, labels=meta.labels)
            created = await resource.create(pod)
            created.status = status
            await resource.update_status(created)

    async with anyio.create_task_group() as tasks:
        for _ in range(16):
            tasks.start_soon(work)


async def full(pods: int = 100_000, namespaces: int = 1000) -> None:
    evaluator = PodEvaluator(InformerSource(Pods(pods, namespaces)))  # type: ignore[arg-type]  # as above
    quotas: Any = Quotas()
    recounter = Recounter(quotas, Registry([evaluator]), None)
    every = [make_quota(f"ns-{number}") for number in range(namespaces)]
    for label in ("first", "then"):
        longest = 0.0

        async def feel_the_pulse() -> None:
            nonlocal longest
            while True:
                before = time.perf_counter()
                await anyio.lowlevel.checkpoint()
                longest = max(longest, time.perf_counter() - before)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(feel_the_pulse)
            await anyio.lowlevel.checkpoint()
            began, cpu = time.perf_counter(), time.process_time()
            queue = iter(every)

            async def work(queue: Iterator[V1ResourceQuota] = queue) -> None:
                for quota in queue:
                    await recounter.recount(quota)
                    # A controller's worker gives way to others between two keys, too.
                    await anyio.lowlevel.checkpoint()

            async with anyio.create_task_group() as workers:
                for _ in range(5):
                    workers.start_soon(work)
            took, used = time.perf_counter() - began, time.process_time() - cpu
            tasks.cancel_scope.cancel()
        print(
            f"full recount of {namespaces:,} quotas over {pods:,} pods, {label}: {took:.2f} s ({used:.2f} s CPU), "
            f"the loop held for {longest * 1000:.1f} ms at most"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["recount", "full"])
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    gc.disable()
    known: dict[str, Callable[[], Awaitable[None]]] = {"recount": recount, "full": full}
    for name in parser.parse_args().what:
        if name not in known:
            parser.error(f"unknown benchmark {name!r}: want some of {', '.join(known)}")
        anyio.run(known[name])


if __name__ == "__main__":
    main()
