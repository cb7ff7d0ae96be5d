"""An informer to measure: what it holds, what its handlers read, and the figures of its first list."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import msgspec

from kinformer.bench.measure import Stopwatch, current_kib, peak_kib, reset_peak
from kinformer.bench.pods import USUAL
from kinformer.bench.results import CannotRun, Figures
from kinformer.bench.servers import Replay, replay
from kinformer.cache import (
    NAMESPACE_INDEX,
    Indexers,
    InformerOptions,
    ListWatch,
    ProcessorListener,
    ResourceEventHandlerFuncs,
    SharedIndexInformer,
)
from kinformer.cache.index import namespace_index_func
from kinformer.cache.options import DEFAULT_OPTIONS
from kinformer.client import ListOptions, Resource, connect
from kinformer.meta import GroupVersionResource, accessor_for
from kinformer.models import V1Pod

__all__ = (
    "AS_GIVEN",
    "DICTS",
    "DICTS_READ_MORE",
    "EVERYTHING",
    "MODES",
    "READS_MORE",
    "Bench",
    "Synced",
    "informing",
    "syncing",
)

_Update = Callable[[Any, Any], object]

_PODS = GroupVersionResource("", "v1", "pods")
_ONE_PAGE = ListOptions(limit=500)


# --- what an informer can hold


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str
    namespace: str
    resource_version: str
    uid: str
    labels: dict[str, str] | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str | None = None


class _Status(msgspec.Struct, rename="camel", gc=False):
    phase: str | None = None
    pod_ip: str | None = msgspec.field(name="podIP", default=None)


class EightFields(msgspec.Struct, gc=False):
    """A pod with the eight fields that some controller reads."""

    metadata: _Meta
    spec: _Spec
    status: _Status


# The handler of each mode. It reads some fields and counts; one call for each event, as with a user's handler.


def _reading_metadata(count: Callable[[], None]) -> _Update:
    def update(_: Any, pod: Any) -> None:
        _ = pod.metadata.resource_version, pod.metadata.labels
        count()

    return update


def _reading_a_field_of_each(count: Callable[[], None]) -> _Update:
    def update(_: Any, pod: Any) -> None:
        _ = pod.metadata.resource_version, pod.spec.node_name, pod.status.phase
        count()

    return update


def _reading_metadata_of_a_dict(count: Callable[[], None]) -> _Update:
    def update(_: Any, pod: Any) -> None:
        meta = pod["metadata"]
        _ = meta["resourceVersion"], meta["labels"]
        count()

    return update


def _reading_a_field_of_each_of_a_dict(count: Callable[[], None]) -> _Update:
    def update(_: Any, pod: Any) -> None:
        _ = pod["metadata"]["resourceVersion"], pod["spec"]["nodeName"], pod["status"]["phase"]
        count()

    return update


@dataclass(frozen=True, slots=True)
class Mode:
    """
    What an informer holds, and which fields its handler reads.

    :param type: the type of the objects
    :param handler: takes a function that counts; returns the handler, which calls it once for each update
    :param options: how the informer follows the server
    """

    type: type[Any]
    handler: Callable[[Callable[[], None]], _Update]
    options: InformerOptions = DEFAULT_OPTIONS


AS_GIVEN = "typed, metadata read"
READS_MORE = "typed, a field of spec and one of status read"
EVERYTHING = "all fields decoded at once"
DICTS = "dicts, metadata read"
DICTS_READ_MORE = "dicts, a field of spec and one of status read"

MODES = {
    AS_GIVEN: Mode(V1Pod, _reading_metadata),
    READS_MORE: Mode(V1Pod, _reading_a_field_of_each),
    "a Struct of 8 fields": Mode(EightFields, _reading_metadata),
    "all fields but managedFields decoded at once": Mode(V1Pod, _reading_a_field_of_each, InformerOptions(eager=True)),
    EVERYTHING: Mode(V1Pod, _reading_a_field_of_each, InformerOptions(eager=True, keep_managed_fields=True)),
    DICTS: Mode(dict, _reading_metadata_of_a_dict),
    DICTS_READ_MORE: Mode(dict, _reading_a_field_of_each_of_a_dict),
}


# --- an informer to measure


@dataclass(slots=True)
class Bench:
    """
    An informer of a replay server's pods, and a counter of its notifications.

    :ivar synced: the figures of the first list
    :ivar seen: how many notifications :meth:`count` has counted since the last :meth:`load`
    """

    replay: Replay
    informer: SharedIndexInformer[Any] = field(init=False)
    registration: ProcessorListener[Any] = field(init=False)
    synced: Figures = field(default_factory=dict)
    seen: int = 0
    _awaited: int = 0
    _arrived: anyio.Event = field(default_factory=anyio.Event)

    def count(self) -> None:
        self.seen += 1
        if self.seen == self._awaited:
            self._arrived.set()

    async def load(self, events: int, rate: float = 0.0, *, status: bool = True) -> Figures:
        """
        Let the server send events, and wait until the handler has been called for each.

        :param events: the number of events
        :param rate: events a second; 0 for as fast as they are read
        :param status: whether each event changes its pod's status
        :return: events a second, of wall time and of CPU time
        """
        self.seen, self._awaited, self._arrived = 0, events, anyio.Event()
        watch = Stopwatch()
        await self.replay.load(events, rate, status=status)
        await self._arrived.wait()
        wall, cpu = watch.wall, watch.cpu
        return {"events/s": round(events / wall), "events/CPU-s": round(events / cpu)}


@asynccontextmanager
async def informing(
    objects: int,
    mode: str = AS_GIVEN,
    *,
    indexers: Indexers[Any] | None = None,
    handlers: int = 1,
    alike: bool = True,
    size: str = USUAL,
    tls: bool = False,
    on_update: Callable[[Any, Any], Any] | None = None,
    others: Callable[[Any, Any], Any] = lambda old, new: None,
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
    use_watch_list: bool = True,
    compress: bool = False,
) -> AsyncIterator[Bench]:
    """
    Run an informer that has synced, while the block runs.

    :param objects: the number of pods
    :param mode: a key of :data:`MODES`
    :param indexers: the informer's index functions by name; None for an index by namespace
    :param handlers: the number of handlers: one is `on_update`, and all the others are `others`
    :param alike: whether many pods have the same labels and owner; see :func:`kinformer.bench.pods.pod`
    :param size: the size of each pod; see :data:`kinformer.bench.pods.SIZES`
    :param tls: whether the server speaks TLS
    :param on_update: the handler of updates that counts; None for the handler of the mode
    :param others: the function that every other handler calls for an update
    :param beside: a coroutine function that runs beside the informer, from just before the first list
    :param use_watch_list: whether to ask for a streaming list
    :param compress: whether the cache is compressed
    :raises CannotRun: if the server has to speak TLS and cannot have a certificate, or nothing can be compressed
    """
    how = MODES[mode]
    try:
        options = replace(how.options, use_watch_list=use_watch_list, compress=compress)
    except ImportError as error:
        raise CannotRun(str(error)) from error
    async with (
        replay(objects, alike=alike, size=size, tls=tls) as server,
        connect(url=server.url, ca_data=server.authority) as client,
    ):
        bench = Bench(server)
        updates = [on_update or how.handler(bench.count), *[others] * (handlers - 1)]
        resource = client.resource(how.type, _PODS)
        told = [ResourceEventHandlerFuncs(update=update) for update in updates]
        async with syncing(resource, how.type, told, indexers, options, beside) as synced:
            bench.informer, bench.registration, bench.synced = synced.informer, synced.registration, synced.figures
            yield bench


@dataclass(frozen=True, slots=True)
class Synced:
    """An informer that has synced, the registration of its first handler, and the figures of its first list."""

    informer: SharedIndexInformer[Any]
    registration: ProcessorListener[Any]
    figures: Figures


@asynccontextmanager
async def syncing(
    resource: Resource[Any],
    type_: type[Any],
    handlers: Sequence[ResourceEventHandlerFuncs[Any]],
    indexers: Indexers[Any] | None = None,
    options: InformerOptions = DEFAULT_OPTIONS,
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> AsyncIterator[Synced]:
    """
    Run an informer while the block runs, and measure its first list.

    :param handlers: its handlers, at least one
    :param indexers: its index functions by name; None for an index by namespace
    :param beside: a coroutine function that runs beside the informer, from just before the first list
    """
    if indexers is None:
        indexers = {NAMESPACE_INDEX: namespace_index_func(accessor_for(type_))}
    # List one page first: making types, decoders and connections, which happens once, is not to be measured.
    await resource.list(options=_ONE_PAGE)
    before = current_kib()
    reset_peak()
    informer = SharedIndexInformer(ListWatch(resource), type_, indexers=indexers, options=options)
    registration, *_ = [informer.add_event_handler(handler) for handler in handlers]
    async with anyio.create_task_group() as tasks:
        if beside is not None:
            tasks.start_soon(beside)
        watch = Stopwatch()
        tasks.start_soon(informer.run)
        await registration.wait_synced()
        wall, cpu, system = watch.wall, watch.cpu, watch.system
        objects, stays, peak = len(informer.indexer), current_kib() - before, peak_kib() - before
        figures = {
            "seconds": round(wall, 3),
            "CPU seconds": round(cpu, 3),
            "of them system": round(system, 2),
            "KiB/object": round(stays / max(objects, 1), 2),
            "peak / stays": round(peak / max(stays, 1), 2),
        }
        yield Synced(informer, registration, figures)
        tasks.cancel_scope.cancel()
