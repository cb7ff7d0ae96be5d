"""The benchmarks: each is a coroutine function that measures one thing in this process, and returns its figures.

Each run has its own process (:mod:`kinformer.bench.runner`), so that no run is changed by the memory, the caches or the
garbage collector settings of another. If a benchmark does not say otherwise, it has pods of 5.7 KB, events that change
the pods' status (as in a cluster), an index by namespace, one handler, and an informer with default settings.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import anyio
import anyio.lowlevel

from kinformer.bench.informing import AS_GIVEN, DICTS, DICTS_READ_MORE, EVERYTHING, MODES, READS_MORE, Bench, informing
from kinformer.bench.measure import Stopwatch, current_kib, reset_peak
from kinformer.bench.pods import SIZES
from kinformer.bench.replay import SENT_AT
from kinformer.bench.results import FAILED, CannotRun, Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import replay
from kinformer.bench.stages import DECODED, READ, stage
from kinformer.bench.takeover import RELEASED, RUN_OUT, take_over
from kinformer.bench.warm import warm_start
from kinformer.cache import ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.index import namespace_index_func
from kinformer.cache.testing import FakeControllerSource
from kinformer.meta import accessor_for
from kinformer.models import V1Pod
from kinformer.workqueue import RateLimitingQueue

__all__ = ("CASES",)

Way: TypeAlias = Literal["streaming list", "pages"]

#: Whether many pods have the same labels and owner, or no two pods do.
Pods: TypeAlias = Literal["alike", "no two alike"]

#: Whether the parts of the cache that nobody reads are compressed.
Cache: TypeAlias = Literal["plain", "compressed"]
COMPRESSED: Final = "compressed"

#: The one setting that is not the default. The defaults are: plain HTTP, one handler, pods that are alike.
Setting: TypeAlias = Literal["", "over TLS", "five handlers", "no two pods alike"]
OVER_TLS: Final = "over TLS"
FIVE_HANDLERS: Final = "five handlers"
UNLIKE: Final = "no two pods alike"


async def throughput(
    mode: str, setting: Setting = "", objects: int = 10_000, events: int = 100_000, *, status: bool = True
) -> Figures:
    handlers = 5 if setting == FIVE_HANDLERS else 1
    others = MODES[mode].handler(lambda: None)
    alike, tls = setting != UNLIKE, setting == OVER_TLS
    try:
        async with informing(objects, mode, handlers=handlers, others=others, alike=alike, tls=tls) as bench:
            return await bench.load(events, status=status)
    except CannotRun as error:
        return {FAILED: str(error)}


async def versions(mode: str, objects: int = 10_000, events: int = 100_000) -> Figures:
    return await throughput(mode, "", objects, events, status=False)


async def first_sync(
    mode: str, objects: int, way: Way = "streaming list", pods: Pods = "alike", cache: Cache = "plain"
) -> Figures:
    try:
        async with informing(
            objects,
            mode,
            use_watch_list=way == "streaming list",
            alike=pods == "alike",
            compress=cache == COMPRESSED,
        ) as bench:
            return bench.synced
    except CannotRun as error:
        return {FAILED: str(error)}


async def sizes(size: str, mode: str, objects: int = 2_000, events: int = 50_000) -> Figures:
    """Pods of another size: their first list, what they take in memory, and events that change the status."""
    async with informing(objects, mode, size=size) as bench:
        return {**await bench.load(events), "KiB/object": bench.synced["KiB/object"]}


async def an_hour(mode: str, objects: int = 10_000, rounds: int = 36) -> Figures:
    """
    The memory of a cache at rest, and after each of its pods has changed every 100 seconds for an hour.

    The events come as fast as they are read.

    :param rounds: how often each pod changes
    """
    async with informing(objects, mode) as bench:
        at_rest = current_kib()
        watch = Stopwatch()
        await bench.load(objects * rounds)
        grown = (current_kib() - at_rest) / objects
        rest = bench.synced["KiB/object"]
        return {
            "KiB/object": rest,
            "KiB/object after an hour": round(rest + grown, 2),
            "CPU seconds of the hour": round(watch.cpu, 1),
        }


async def first_touch(mode: str, objects: int, cache: Cache = "plain") -> Figures:
    """Events each of which is the first of its pod. A handler that reads spec and status is the first to read them."""
    try:
        async with informing(objects, mode, compress=cache == COMPRESSED) as bench:
            return await bench.load(objects)
    except CannotRun as error:
        return {FAILED: str(error)}


async def fresh_memory(gib: float) -> Figures:
    """
    How long the system takes to hand out new memory, page by page as it is touched. A sync that needs so much memory
    cannot be faster.

    :param gib: how much memory, in GiB
    """
    size = int(gib * 2**30)
    with mmap.mmap(-1, size) as memory:
        watch = Stopwatch()
        for page in range(0, size, mmap.PAGESIZE):
            memory[page] = 1
        return {"seconds": round(watch.wall, 3), "of them system": round(watch.system, 2)}


async def raw_reader(objects: int = 10_000, events: int = 100_000) -> Figures:
    async with replay(objects) as server:
        return {"events/s": round(events / (await server.raw_read(events)).wall)}


async def fan_out(handlers: int, objects: int = 10_000, events: int = 100_000) -> Figures:
    async with informing(objects, handlers=handlers) as bench:
        return await bench.load(events)


async def readers(handlers: int, objects: int = 10_000, events: int = 100_000) -> Figures:
    """Several handlers like those of controllers: each reads metadata and one field."""

    def read(_: Any, pod: Any) -> None:
        _ = pod.metadata.resource_version, pod.metadata.labels, pod.spec.node_name

    def read_and_count(_: Any, pod: Any) -> None:
        read(_, pod)
        bench.count()

    async with informing(objects, handlers=handlers, on_update=read_and_count, others=read) as bench:
        return await bench.load(events)


async def adding(handlers: int) -> Figures:
    """The CPU time of adding handlers to an informer that runs."""
    informer = SharedIndexInformer(FakeControllerSource(), dict)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(informer.run)
        await informer.wait_synced()
        watch = Stopwatch()
        for _ in range(handlers):
            informer.add_event_handler(ResourceEventHandlerFuncs(update=lambda old, new: None))
        cpu = watch.cpu
        tasks.cancel_scope.cancel()
    return {"CPU seconds": round(cpu, 3), "us CPU each": round(cpu / handlers * 1e6, 1)}


async def indexes(count: int, objects: int = 10_000, events: int = 100_000) -> Figures:
    accessor = accessor_for(V1Pod)

    def by_label(name: str) -> Callable[[Any], list[str]]:
        return lambda pod: [accessor.labels(pod)[name]]

    functions: list[Callable[[Any], Any]] = [
        namespace_index_func(accessor),
        lambda pod: [owner.uid for owner in pod.metadata.owner_references or ()],
        by_label("app.kubernetes.io/name"),
        by_label("tier"),
        by_label("pod-template-hash"),
    ]
    async with informing(objects, indexers={str(n): function for n, function in enumerate(functions[:count])}) as bench:
        return await bench.load(events)


async def growth(objects: int, events: int = 50_000) -> Figures:
    async with informing(objects) as bench:
        # The figures are those of the middle load. A million objects take gigabytes, and at first the system is still
        # busy with this memory.
        loads = [await bench.load(events) for _ in range(3)]
        figures = sorted(loads, key=lambda load: load["events/CPU-s"])[1]
        return {**figures, "us CPU/event": round(1e6 / figures["events/CPU-s"], 2)}


async def latency(rate: int, objects: int = 10_000, seconds: float = 5.0) -> Figures:
    """
    The time from the server's write of an event until the handler is called. Server and handler are on one machine and
    use the same clock.

    :param rate: events a second
    :param seconds: how long events are sent
    """
    delays: list[int] = []
    events = int(rate * seconds)
    done = anyio.Event()

    def update(_: Any, new: Any) -> None:
        delays.append(time.monotonic_ns() - int(new.metadata.annotations[SENT_AT]))
        if len(delays) == events:
            done.set()

    async with informing(objects, on_update=update) as bench:
        await bench.replay.load(events, rate)
        await done.wait()
    delays.sort()

    def percentile(share: float) -> float:
        return round(delays[min(int(len(delays) * share), len(delays) - 1)] / 1e6, 2)

    return {"p50 ms": percentile(0.5), "p99 ms": percentile(0.99), "p99.9 ms": percentile(0.999)}


async def slow_handler(objects: int = 10_000, events: int = 20_000, pause: float = 0.0001) -> Figures:
    """
    A burst of events into a handler that waits after each notification: how long its buffer becomes, and how much
    memory the buffer takes. A quick handler beside it measures the events a second.

    :param pause: the seconds that the slow handler waits
    """
    told = 0
    done = anyio.Event()

    async def update(_: Any, new: Any) -> None:
        nonlocal told
        told += 1
        if told == events:
            done.set()
        await anyio.sleep(pause)

    async with informing(objects, on_update=update) as bench:
        slow = bench.registration
        other = Bench(bench.replay)
        quick_one = ResourceEventHandlerFuncs[Any](update=lambda old, new: other.count())
        await bench.informer.add_event_handler(quick_one).wait_synced()
        before = current_kib()
        reset_peak()
        quick = await other.load(events)
        depth, memory = len(slow.pending), current_kib() - before
        await done.wait()
        return {**quick, "waiting at the end": depth, "KiB/waiting": round(memory / max(depth, 1), 2)}


async def responsiveness(during: str, objects: int, events: int = 100_000) -> Figures:
    """
    How late a timer is that should fire every 10 ms.

    :param during: ``sync`` for the first list, ``flood`` for many events after it
    """
    worst = 0.0
    fired = 0

    async def tick() -> None:
        nonlocal worst, fired
        while True:
            due = time.perf_counter() + 0.01
            await anyio.sleep(0.01)
            worst = max(worst, time.perf_counter() - due)
            fired += 1

    async with informing(objects, beside=tick) as bench:
        if during == "flood":
            worst, fired = 0.0, 0
            await bench.load(events)
    return {"worst ms late": round(worst * 1000, 1), "fired": fired}


async def workqueue(operation: str, count: int = 200_000) -> Figures:
    queue: RateLimitingQueue[int] = RateLimitingQueue()
    watch = Stopwatch()
    if operation == "add, get, done":
        for item in range(count):
            queue.add(item)
            got = queue.get_nowait()
            queue.done(got)
    elif operation == "add what is there":
        for _ in range(count):
            queue.add(1)
    elif operation == "add_after":
        for item in range(count):
            queue.add_after(item, 1000.0)
    elif operation == "add_rate_limited":
        for item in range(count):
            queue.add_rate_limited(item)
    elif operation == "through four workers":
        async with anyio.create_task_group() as tasks:

            async def work() -> None:
                async for item in queue:
                    queue.done(item)

            for _ in range(4):
                tasks.start_soon(work)
            for first in range(0, count, 100):
                for item in range(first, first + 100):
                    queue.add(item)
                await anyio.lowlevel.checkpoint()
            await queue.shut_down_with_drain()
    cpu = watch.cpu
    queue.shut_down()
    return {"us CPU each": round(cpu / count * 1e6, 2)}


def _settings(*settings: Setting, **others: Any) -> tuple[dict[str, Any], ...]:
    return tuple({"mode": AS_GIVEN, "setting": setting, **others} for setting in settings)


_WHOLE_WAY = "through queue, store and handler: the whole informer"
_STAGES = (READ, DECODED, _WHOLE_WAY)


async def way(until: str, objects: int = 10_000, events: int = 100_000) -> Figures:
    if until != _WHOLE_WAY:
        return await stage(until, objects, events)
    figures = await throughput(AS_GIVEN, "", objects, events)
    return {"us CPU/event": round(1e6 / figures["events/CPU-s"], 2)}


_OPERATIONS = ("add, get, done", "add what is there", "add_after", "add_rate_limited", "through four workers")

CASES = {
    "raw": Case(
        "The replay server, read by somebody who throws it away",
        raw_reader,
        ({},),
        ({"events": 20_000},),
        ("events/s",),
    ),
    "throughput": Case(
        "100,000 events that change the status, through list, watch, queue, store and one handler",
        throughput,
        each("mode", tuple(MODES)) + _settings(OVER_TLS, FIVE_HANDLERS, UNLIKE),
        each("mode", tuple(MODES), objects=2_000, events=10_000)
        + _settings(OVER_TLS, FIVE_HANDLERS, UNLIKE, objects=2_000, events=10_000),
        ("events/CPU-s",),
    ),
    "versions": Case(
        "The same where an event changes the resourceVersion and nothing else",
        versions,
        each("mode", (AS_GIVEN, READS_MORE, EVERYTHING, DICTS_READ_MORE)),
        each("mode", (AS_GIVEN, READS_MORE), objects=2_000, events=10_000),
        ("events/CPU-s",),
    ),
    "stages": Case(
        "The way of an event: what it has cost up to there",
        way,
        each("until", _STAGES),
        each("until", _STAGES, objects=2_000, events=10_000),
        ("us CPU/event",),
        lower_is_better=True,
    ),
    "touch": Case(
        "Events each of which is the first of its pod",
        first_touch,
        tuple(
            {"mode": mode, "objects": objects}
            for mode in (AS_GIVEN, READS_MORE, "all fields but managedFields decoded at once")
            for objects in (10_000, 100_000)
        )
        + each("mode", (AS_GIVEN, READS_MORE), objects=10_000, cache=COMPRESSED),
        each("mode", (AS_GIVEN, READS_MORE), objects=2_000),
        ("events/CPU-s",),
    ),
    "sync": Case(
        "First sync of so many pods",
        first_sync,
        tuple(
            {"mode": mode, "objects": objects}
            for mode in (AS_GIVEN, "a Struct of 8 fields", "all fields but managedFields decoded at once")
            for objects in (1_000, 10_000, 100_000)
        )
        + each("mode", (AS_GIVEN, "all fields but managedFields decoded at once"), objects=100_000, way="pages"),
        each("mode", (AS_GIVEN,), objects=2_000),
        ("seconds", "CPU seconds"),
        lower_is_better=True,
    ),
    "warm": Case(
        "The same with a snapshot that an earlier process has left",
        warm_start,
        each("objects", (1_000, 10_000, 100_000)),
        each("objects", (2_000,)),
        ("seconds", "CPU seconds"),
        lower_is_better=True,
    ),
    "sizes": Case(
        "Pods of other sizes, and events that change the status",
        sizes,
        tuple(
            {"size": size, "mode": mode}
            for size in SIZES
            for mode in (AS_GIVEN, "all fields but managedFields decoded at once")
        ),
        each("size", tuple(SIZES), mode=AS_GIVEN, objects=500, events=2_000),
        ("events/CPU-s",),
    ),
    "hour": Case(
        "Memory of a cache at rest, and after an hour in which each pod has changed 36 times",
        an_hour,
        each("mode", (AS_GIVEN, READS_MORE, DICTS)),
        each("mode", (AS_GIVEN,), objects=2_000, rounds=5),
        ("KiB/object", "KiB/object after an hour"),
        lower_is_better=True,
    ),
    "fresh": Case(
        "Memory of the size of such a cache, touched once and nothing else",
        fresh_memory,
        each("gib", (0.055, 0.13, 0.55, 1.3)),
        each("gib", (0.055,)),
        ("seconds",),
        lower_is_better=True,
    ),
    "memory": Case(
        "Memory that a cached pod takes, and the peak of a sync over what stays",
        first_sync,
        tuple({"mode": mode, "objects": 10_000} for mode in MODES if mode not in (READS_MORE, DICTS_READ_MORE))
        + each("mode", (AS_GIVEN, DICTS), objects=10_000, pods="no two alike")
        + each("mode", (AS_GIVEN,), objects=10_000, pods="no two alike", cache=COMPRESSED),
        each("mode", (AS_GIVEN, DICTS), objects=2_000),
        ("KiB/object",),
        lower_is_better=True,
    ),
    "fanout": Case(
        "Handlers",
        fan_out,
        each("handlers", (1, 10, 100)),
        each("handlers", (1, 10), events=10_000),
        ("events/CPU-s",),
    ),
    "readers": Case(
        "Handlers of several controllers, each of which reads metadata and one field",
        readers,
        each("handlers", (1, 5)),
        each("handlers", (1, 5), events=10_000),
        ("events/CPU-s",),
    ),
    "adding": Case(
        "Adding handlers to an informer",
        adding,
        each("handlers", (1_000, 4_000)),
        each("handlers", (100, 400)),
        ("us CPU each",),
        lower_is_better=True,
    ),
    "indexes": Case(
        "Indexes", indexes, each("count", (0, 1, 5)), each("count", (0, 5), events=10_000), ("events/CPU-s",)
    ),
    "growth": Case(
        "What an event costs with so many objects cached",
        growth,
        each("objects", (1_000, 10_000, 100_000, 1_000_000)),
        each("objects", (1_000, 5_000), events=10_000),
        ("us CPU/event",),
        lower_is_better=True,
    ),
    "latency": Case(
        "From the server's write to the handler",
        latency,
        each("rate", (1_000, 5_000, 20_000)),
        each("rate", (1_000,), seconds=1.0),
        ("p50 ms", "p99 ms", "p99.9 ms"),
        lower_is_better=True,
    ),
    "slow": Case("A burst into a slow handler", slow_handler, ({},), ({"events": 2_000},), ("events/CPU-s",)),
    "loop": Case(
        "How late a timer of 10 ms gets",
        responsiveness,
        ({"during": "sync", "objects": 100_000}, {"during": "flood", "objects": 10_000}),
        each("during", ("sync", "flood"), objects=5_000, events=10_000),
        ("worst ms late",),
        lower_is_better=True,
    ),
    "takeover": Case(
        "A follower's first sync once it holds the lease",
        take_over,
        each("how", (RELEASED, RUN_OUT), objects=20_000),
        each("how", (RELEASED, RUN_OUT), objects=1_000),
        ("ms to the first sync", "ms until all are queued"),
        lower_is_better=True,
    ),
    "workqueue": Case(
        "Work queue operations",
        workqueue,
        each("operation", _OPERATIONS),
        each("operation", _OPERATIONS, count=20_000),
        ("us CPU each",),
        lower_is_better=True,
    ),
}
