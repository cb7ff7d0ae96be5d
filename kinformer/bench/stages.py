"""The CPU time of an event up to a stage of its way: when its bytes are read, and when it is decoded.

:mod:`kinformer.bench.cases` adds the last stage, the whole informer.
"""

from __future__ import annotations

from kinformer.bench.measure import Stopwatch
from kinformer.bench.results import Figures
from kinformer.bench.servers import Replay, replay
from kinformer.client import ListOptions, connect
from kinformer.models import V1Pod

__all__ = ("DECODED", "READ", "stage")

READ = "bytes read from the socket"
DECODED = "read and decoded by the client's watch"


async def stage(until: str, objects: int = 10_000, events: int = 100_000) -> Figures:
    """
    Measure the CPU time of an event up to a stage.

    :param until: :data:`READ` or :data:`DECODED`
    :param objects: the number of pods
    :param events: the number of events
    """
    async with replay(objects) as server:
        cpu = (await server.raw_read(events)).cpu if until == READ else await _decode(server, events)
    return {"us CPU/event": round(cpu / events * 1e6, 2)}


async def _decode(server: Replay, events: int) -> float:
    async with (
        connect(url=server.url) as client,
        client.resource(V1Pod).watch(options=ListOptions(resource_version="1")) as batches,
    ):
        # The first few events make what is made only once, such as decoders.
        await server.load(10)
        left = 10
        while left:
            left -= len(await anext(batches))
        await server.load(events)
        watch = Stopwatch()
        left = events
        while left:
            left -= len(await anext(batches))
        return watch.cpu
