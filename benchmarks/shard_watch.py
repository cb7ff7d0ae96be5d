"""What a watch costs a member of a sharded manager: ``python -m benchmarks.shard_watch``.

A replay server sends all events to every member, as an API server does. One informer of pods, each in a process of its
own, holds all ranges, or every fourth one. The figures:

- its share of the pods: not exactly a fourth, because a namespace is not divided;
- the CPU time for each event that the server sends, the bytes that it receives, which are the same for all members, and
  the resident memory that its objects take.

With ``--rate 0``, the events come as fast as they are read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

import anyio

from kinformer.bench.measure import Stopwatch, current_kib, replay
from kinformer.bench.pods import pod_bytes
from kinformer.cache import ListWatch, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.client import ListOptions, connect
from kinformer.models import V1Pod
from kinformer.sharding import InformerCaches, RangeGate, Ranges

RANGES = 64


async def member(count: int, pods: int, rate: float, seconds: float) -> dict[str, Any]:
    """The figures of one of `count` members."""
    ranges = Ranges(RANGES)
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
        caches.hold(frozenset(range(0, RANGES, count)))
        registration = informer.add_event_handler(ResourceEventHandlerFuncs(count_one, count_one, count_one))
        tasks.start_soon(informer.run)
        await registration.wait_synced()
        held = len(informer.indexer)
        # One turn first: every pod has its final form then.
        await server.load(pods)
        version = 1_000_000_000 + 2 * pods
        await until(lambda: informer.last_sync_resource_version == str(version))
        seen, watch, events = 0, Stopwatch(), int(rate * seconds) or 5 * pods
        await server.load(events, rate)
        await until(lambda: informer.last_sync_resource_version == str(version + events))
        figures = {
            "members": count,
            "share of the pods": round(held / pods, 3),
            "events told": seen,
            "us of CPU an event sent": round(watch.cpu / events * 1e6, 1),
            "of these in the kernel": round(watch.system / events * 1e6, 1),
            "KiB received an event": round(len(pod_bytes(0).at(version)) / 1024, 1),
            "events a second": round(events / watch.wall),
            "MiB of objects": round((current_kib() - before) / 1024, 1),
        }
        tasks.cancel_scope.cancel()
    return figures


async def until(there: Any) -> None:
    while not there():  # noqa: ASYNC110  # an event would be one more thing for the measured process to do
        await anyio.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=10_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(anyio.run(member, given.one, given.pods, given.rate, given.seconds)))
        return
    for count in given.members:
        own = [sys.executable, "-m", "benchmarks.shard_watch", "--one", str(count)]
        options = ["--pods", str(given.pods), "--rate", str(given.rate), "--seconds", str(given.seconds)]
        print(
            subprocess.run([*own, *options], check=True, stdout=subprocess.PIPE, text=True).stdout, end="", flush=True
        )


if __name__ == "__main__":
    main()
