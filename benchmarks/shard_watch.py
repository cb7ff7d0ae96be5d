"""What a watch costs a member of a sharded manager.

A replay server sends its events to every member, as an API server does. One informer of pods, each in a process of its
own, holds all ranges, or every fourth one. The figures:

- the share of the pods that it holds. This is not exactly a fourth, because a namespace or a ReplicaSet stays whole;
- the CPU time for each event of the server, and the bytes that the member receives for each of them. A member asks the
  server to leave out the namespaces of other members, as many as fit into a request;
- the resident memory of the objects that it holds.

With a rate of 0, the events come as fast as they are read.
"""

from __future__ import annotations

from typing import Any

import anyio

from kinformer.bench.measure import Stopwatch, current_kib
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import replay
from kinformer.cache import ListWatch, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.client import ListOptions, connect
from kinformer.models import V1Pod
from kinformer.sharding import InformerCaches, RangeGate, Ranges

RANGES = 64


async def member(members: int, pods: int, rate: float, seconds: float, by: str) -> Figures:
    """
    The figures of one of so many members.

    :param by: what decides the shard of a pod: ``namespace`` or ``owner``
    """
    ranges = Ranges(RANGES, by_owner=by == "owner")
    caches = InformerCaches(ranges)
    caches.gate = RangeGate(ranges, lambda: True)
    seen = 0

    def count_one(*_: Any) -> None:
        nonlocal seen
        seen += 1

    async with replay(pods) as server, connect(url=server.url) as client, anyio.create_task_group() as tasks:
        resource = client.resource(V1Pod)
        await resource.list(options=ListOptions(limit=500))
        before = current_kib()
        source = caches.narrowed(ListWatch(resource, supports_watch_list=False), V1Pod, namespaced=True)
        informer = SharedIndexInformer(source, V1Pod)
        caches.add_informer(informer)
        caches.hold(frozenset(range(0, RANGES, members)))
        registration = informer.add_event_handler(ResourceEventHandlerFuncs(count_one, count_one, count_one))
        tasks.start_soon(informer.run)
        await registration.wait_synced()
        held = len(informer.indexer)
        # One turn first: every pod has its final form then.
        await server.load(pods)
        version = 1_000_000_000 + 2 * pods
        await until(lambda: informer.last_sync_resource_version == str(version))
        sent = await server.sent()
        seen, watch, events = 0, Stopwatch(), int(rate * seconds) or 5 * pods
        await server.load(events, rate)
        await until(lambda: informer.last_sync_resource_version == str(version + events))
        figures: Figures = {
            "share of the pods": round(held / pods, 3),
            "handler calls": seen,
            "us CPU/event": round(watch.cpu / events * 1e6, 1),
            "of these in the kernel": round(watch.system / events * 1e6, 1),
            "KiB received/event": round((await server.sent() - sent) / events / 1024, 2),
            "events/s": round(events / watch.wall),
            "MiB of objects": round((current_kib() - before) / 1024, 1),
        }
        tasks.cancel_scope.cancel()
    return figures


async def until(there: Any) -> None:
    while not there():  # noqa: ASYNC110  # an event would be one more thing for the measured process to do
        await anyio.sleep(0.1)


CASES = {
    "shard-watch": Case(
        "A watch of one of so many members, which share the keys",
        member,
        each("members", (1, 4), pods=20_000, rate=10_000, seconds=10, by="namespace"),
        each("members", (1, 4), pods=500, rate=1_000, seconds=0.5, by="owner"),
        ("us CPU/event",),
        lower_is_better=True,
    )
}
