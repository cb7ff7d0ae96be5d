"""Benchmarks of a user's cluster: the first sync of an informer and the cluster's events, and a manager's start.

The informer lists and watches pods in all namespaces. Nothing is written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from kinformer.bench.informing import syncing
from kinformer.bench.measure import Stopwatch
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case
from kinformer.bench.start import STARTED, start_manager
from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import ListOptions, connect
from kinformer.models import V1Pod

__all__ = ("cases_of", "check_cluster", "watch_cluster")


def cases_of(kubeconfig: Path, seconds: float) -> dict[str, Case]:
    """
    The benchmarks of a cluster, by name.

    :param kubeconfig: the file with its address and credentials
    :param seconds: how long events are counted
    """
    of_it = {"kubeconfig": str(kubeconfig)}
    watched, started = ({**of_it, "seconds": seconds},), (of_it,)
    title = "An informer of the cluster's pods"
    start = "A manager's start on the cluster, until it could work"
    return {
        "cluster": Case(title, watch_cluster, watched, watched, ("us CPU/event",), True, ("pods",), is_repeated=False),
        "start": Case(start, start_manager, started, started, ("seconds",), True, (", ".join(STARTED),)),
    }


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

    async with connect(Path(kubeconfig)) as client:
        handlers = [ResourceEventHandlerFuncs(count, count, count)]
        async with syncing(client.resource(V1Pod), V1Pod, handlers) as synced:
            objects, first = len(synced.informer.indexer), synced.figures
            seen, watch = 0, Stopwatch()
            await anyio.sleep(seconds)
            return {
                "objects": objects,
                "first sync s": first["seconds"],
                "first sync CPU s": first["CPU seconds"],
                # With a few objects, the memory for each cannot be measured.
                "KiB/object": first["KiB/object"] if objects >= 100 else "",
                "peak / stays": first["peak / stays"] if objects >= 100 else "",
                "seconds": seconds,
                "events": seen,
                "us CPU/event": round(watch.cpu / seen * 1e6, 1) if seen else "",
            }
