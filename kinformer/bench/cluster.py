"""The same informer against a user's cluster: the cost of its first sync, and of the events of the cluster.

It lists and watches pods in all namespaces, and writes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from kinformer.bench.measure import Stopwatch, current_kib, peak_kib, reset_peak
from kinformer.bench.results import Figures
from kinformer.cache import NAMESPACE_INDEX, ListWatch, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.index import namespace_index_func
from kinformer.client import ListOptions, connect
from kinformer.meta import accessor_for
from kinformer.models import V1Pod

__all__ = ("check_cluster", "watch_cluster")


async def check_cluster(kubeconfig: Path) -> str:
    """
    Check that the pods of a cluster can be read.

    :param kubeconfig: the file with its address and credentials
    :return: the server's URL and its version
    :raises ClientError: if they cannot be read
    """
    async with connect(kubeconfig) as client:
        version = await client.server_version()
        await client.resource(V1Pod).list(options=ListOptions(limit=1))
        return f"{client.server} ({version.git_version})"


async def watch_cluster(kubeconfig: str, seconds: float) -> Figures:
    """
    Measure the first sync of an informer, and then the events of the cluster.

    :param kubeconfig: the path of the kubeconfig
    :param seconds: how long events are counted
    :raises ClientError: if the cluster cannot be reached, or refuses
    """
    seen = 0

    def count(*_: Any) -> None:
        nonlocal seen
        seen += 1

    async with connect(Path(kubeconfig)) as client, anyio.create_task_group() as tasks:
        pods = client.resource(V1Pod)
        # List one page first: making types, decoders and connections, which happens once, is not to be measured.
        await pods.list(options=ListOptions(limit=500))
        before = current_kib()
        reset_peak()
        informer = SharedIndexInformer(
            ListWatch(pods), V1Pod, indexers={NAMESPACE_INDEX: namespace_index_func(accessor_for(V1Pod))}
        )
        registration = informer.add_event_handler(ResourceEventHandlerFuncs(count, count, count))
        watch = Stopwatch()
        tasks.start_soon(informer.run)
        await registration.wait_synced()
        wall, cpu = watch.wall, watch.cpu
        objects, stays, peak = len(informer.indexer), current_kib() - before, peak_kib() - before
        seen, watch = 0, Stopwatch()
        await anyio.sleep(seconds)
        figures = {
            "objects": objects,
            "first sync s": round(wall, 3),
            "first sync CPU s": round(cpu, 3),
            # With a few objects, the memory for each cannot be measured.
            "KiB/object": round(stays / objects, 2) if objects >= 100 else "",
            "peak / stays": round(peak / max(stays, 1), 2) if objects >= 100 else "",
            "seconds": seconds,
            "events": seen,
            "us CPU/event": round(watch.cpu / seen * 1e6, 1) if seen else "",
        }
        tasks.cancel_scope.cancel()
    return figures
