"""A small fixed run of the informer, to count its instructions: ``python -m benchmarks.guard_run EVENTS HANDLER [N]``.

A handler of `metadata` reads metadata alone, one of `fields` reads a field of spec and one of status, too, and one of
`dicts` reads the metadata of dicts. There are N of them, one if nothing is said.

The bytes of a list and of so many events are decoded, and go through Reflector, queue, store with a namespace index
and listener to a handler, as a watch's would. There are no sockets, and the clock stands still: the same run takes the
same way each time.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel

from kinformer.bench.pods import pod_bytes
from kinformer.cache import NAMESPACE_INDEX, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.index import namespace_index_func
from kinformer.client.codec import ObjectCodec
from kinformer.client.types import ListOptions, ObjectList, WatchEvent
from kinformer.clock import FakeClock
from kinformer.collector import relax
from kinformer.meta import accessor_for
from kinformer.models import V1Pod

__all__ = ("follow",)

OBJECTS = 200
#: Events in a read of the socket.
BATCH = 50


class RecordedPods:
    """
    A lister-watcher whose bytes are at hand. Its one watch ends, so to say, in silence.

    :param in_turn: let handlers see each read before the next one comes
    """

    supports_watch_list = False

    def __init__(self, events: int, type_: type[Any], *, in_turn: bool):
        self._in_turn = in_turn
        pods = [pod_bytes(number) for number in range(OBJECTS)]
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
    Sync, and see so many events.

    :param handler: what it reads: `metadata` or `fields`, or `dicts`
    :param handlers: how many there are
    :return: how many the handler was told of
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
        # Who reads decides what the next object takes over.
        RecordedPods(events, type_, in_turn=handler == "fields"),
        type_,
        indexers={NAMESPACE_INDEX: namespace_index_func(accessor_for(type_))},
        clock=FakeClock(),
        random=lambda: 0.5,
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
