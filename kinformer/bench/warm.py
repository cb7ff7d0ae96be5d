"""How long an informer takes to sync that begins with the file of an earlier process, instead of a list."""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio

from kinformer.bench.measure import Stopwatch, current_kib
from kinformer.bench.results import Figures
from kinformer.bench.servers import replay
from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import connect
from kinformer.informers import SharedInformerFactory
from kinformer.models import V1Pod

__all__ = ("warm_start",)


async def warm_start(objects: int) -> Figures:
    """
    Measure the time from the start of the informer until it has synced, and until its handler was called for each pod.

    :param objects: the number of pods
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "caches")
        async with replay(objects) as server, connect(url=server.url) as client:
            async with SharedInformerFactory(client, snapshot=path) as informers:
                informers.informer_for(V1Pod)
                informers.start()
                await informers.wait_for_cache_sync()
                writing = Stopwatch()
            written = writing.cpu
            del informers
            before = current_kib()
            async with SharedInformerFactory(client, snapshot=path) as informers:
                pods = informers.informer_for(V1Pod)
                registration = pods.add_event_handler(ResourceEventHandlerFuncs(add=lambda pod: None))
                watch = Stopwatch()
                informers.start()
                await pods.wait_synced()
                synced, cpu = watch.wall, watch.cpu
                await registration.wait_synced()
                told = watch.wall
                stays = current_kib() - before
                assert pods.lists == 0, "the file was not used"
                assert len(pods.indexer) == objects
            size = (await anyio.Path(path).stat()).st_size
    return {
        "seconds": round(synced, 3),
        "CPU seconds": round(cpu, 3),
        "handler called for all, seconds": round(told, 3),
        "CPU seconds to write the file": round(written, 3),
        "file KiB/object": round(size / 1024 / objects, 2),
        "KiB/object": round(stays / objects, 2),
    }
