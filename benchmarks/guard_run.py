"""A small fixed run of the informer, to count its instructions: ``python -m benchmarks.guard_run EVENTS HANDLER [N]``.

The handler ``metadata`` reads only metadata, ``fields`` also reads a field of spec and one of status, and ``dicts``
reads the metadata of dicts. There are N such handlers, by default one.

The bytes of a list and of the events are decoded. They go through Reflector, queue, store (with a namespace index) and
listener to the handlers, as those of a real watch do. There are no sockets, and the clock does not move, so every run
executes the same instructions.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel

from kinformer.bench.pods import pod_bytes
from kinformer.cache import NAMESPACE_INDEX, InformerOptions, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.index import namespace_index_func
from kinformer.client.codec import ObjectCodec
from kinformer.client.types import ListOptions, ObjectList, WatchEvent
from kinformer.clock import FakeClock
from kinformer.collector import relax
from kinformer.meta import accessor_for
from kinformer.models import V1Pod

__all__ = ("follow",)

OBJECTS = 200
#: The number of events that arrive together, as in one read from a socket.
BATCH = 50


class RecordedPods:
    """
    A lister-watcher with prepared bytes. Its only watch stays open after the last event.

    :param events: the number of events
    :param type_: the type of the objects
    :param in_turn: whether handlers see the events of each read before the next read comes
    :param objects: the number of objects in the list
    """

    supports_watch_list = False

    def __init__(self, events: int, type_: type[Any], *, in_turn: bool, objects: int = OBJECTS):
        self._in_turn = in_turn
        pods = [pod_bytes(number) for number in range(objects)]
        self._codec = ObjectCodec(type_, "v1", "Pod")
        self._list = b'{"metadata":{"resourceVersion":"1000"},"items":[%b]}' % b",".join(pod.at(1000) for pod in pods)
        lines = [b'{"type":"MODIFIED","object":%b}\n' % pods[n * 7 % OBJECTS].at(1001 + n) for n in range(events)]
        self._reads = [b"".join(lines[first : first + BATCH]) for first in range(0, events, BATCH)]

    async def list(self, options: ListOptions) -> ObjectList[Any]:
        return self._codec.decode_list(self._list)

    @asynccontextmanager
    async def watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent[Any]]]]:
        yield self._events()

    async def _events(self) -> AsyncIterator[Sequence[WatchEvent[Any]]]:
        for read in self._reads:
            yield self._decoded(read)
            if self._in_turn:
                await anyio.lowlevel.checkpoint()
                await anyio.lowlevel.checkpoint()
        await anyio.sleep_forever()

    def _decoded(self, read: bytes) -> list[WatchEvent[Any]]:
        events, failure = self._codec.decode_events([read])
        assert failure is None
        return events


async def follow(events: int, handler: str = "metadata", handlers: int = 1) -> int:
    """
    Run an informer until its handlers have seen all events.

    :param events: the number of events
    :param handler: which handler: ``metadata``, ``fields`` or ``dicts``
    :param handlers: the number of handlers
    :return: how often handlers were called
    """
    told = 0
    done = anyio.Event()

    def update(_: V1Pod, new: V1Pod) -> None:
        nonlocal told
        assert new.metadata.resource_version
        told += 1
        if told == events:
            done.set()

    def update_reading(old: V1Pod, new: V1Pod) -> None:
        assert new.spec is not None
        assert new.spec.node_name
        assert new.status is not None
        assert new.status.phase
        update(old, new)

    def update_dict(_: dict[str, Any], new: dict[str, Any]) -> None:
        nonlocal told
        assert new["metadata"]["resourceVersion"]
        told += 1
        if told == events:
            done.set()

    type_: type[Any] = dict if handler == "dicts" else V1Pod
    informer: SharedIndexInformer[Any] = SharedIndexInformer(
        # What handlers have read decides which parts the next version of an object takes over.
        RecordedPods(events, type_, in_turn=handler == "fields"),
        type_,
        indexers={NAMESPACE_INDEX: namespace_index_func(accessor_for(type_))},
        options=InformerOptions(random=lambda: 0.5),
        clock=FakeClock(),
    )
    told_to: Any = {"metadata": update, "fields": update_reading, "dicts": update_dict}[handler]
    for _ in range(handlers):
        informer.add_event_handler(ResourceEventHandlerFuncs(update=told_to))
    events *= handlers
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(informer.run)
        await done.wait()
        tasks.cancel_scope.cancel()
    return told


if __name__ == "__main__":
    relax()
    anyio.run(follow, int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if sys.argv[3:] else 1)
