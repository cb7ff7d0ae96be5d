"""What the golden cases ``delta_fifo`` do not play. Those have known objects, and nothing that fails or waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from kinformer.cache import (
    DeletedFinalStateUnknown,
    Delta,
    DeltaFIFO,
    FIFOClosed,
    Indexer,
    ObjectKeyError,
)
from tests.cache.objects import POD, Known, Pod, changes, name_of, pod


def ignore(_: object, __: bool) -> None: ...


def popped(queue: DeltaFIFO[Any]) -> list[tuple[str, Any]]:
    return changes(queue.pop_nowait(ignore))


def newest(queue: DeltaFIFO[Any]) -> Any:
    return queue.pop_nowait(ignore)[-1].object


def tombstone(obj: Pod | None, key: str = "") -> DeletedFinalStateUnknown[Pod]:
    return DeletedFinalStateUnknown(key or (name_of(obj) if obj else ""), obj)


def test_deltas_carry_the_key() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD, Known(pod("known")))
    queue.add(pod("foo", namespace="ns"))
    queue.replace([], "1")

    assert [delta.key for delta in queue.pop_nowait(ignore)] == ["ns/foo", "ns/foo"]
    assert [delta.key for delta in queue.pop_nowait(ignore)] == ["known"]


def test_without_known_objects_a_delete_of_what_is_not_queued_is_dropped() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD)
    queue.add(pod("foo", 10))
    queue.update(pod("bar", 15))
    queue.add(pod("qux", 17))
    queue.delete(pod("qux", 18))
    queue.delete(pod("baz", 20))

    assert [newest(queue) for _ in range(3)] == [pod("foo", 10), pod("bar", 15), pod("qux", 18)]
    assert len(queue) == 0


def test_of_two_deletions_the_one_that_is_no_tombstone_stays() -> None:
    foo = pod("foo", 5)
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD, Known(foo))
    queue.delete(pod("foo", 6))
    queue.delete(tombstone(foo))
    assert popped(queue) == [("Deleted", pod("foo", 6))]

    queue.delete(tombstone(foo))
    queue.delete(pod("foo", 6))
    assert popped(queue) == [("Deleted", pod("foo", 6))]

    queue.delete(tombstone(foo))
    queue.delete(tombstone(pod("foo", 7)))
    assert popped(queue) == [("Deleted", tombstone(pod("foo", 7)))]

    queue.delete(pod("foo", 6))
    queue.delete(pod("foo", 7))
    assert popped(queue) == [("Deleted", pod("foo", 6))]


def test_without_known_objects_a_list_deletes_what_is_queued_only() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD)
    queue.add(pod("baz", 10))
    queue.replace([pod("foo", 5)], "0")

    assert [popped(queue) for _ in range(2)] == [
        [("Added", pod("baz", 10)), ("Deleted", tombstone(pod("baz", 10)))],
        [("Sync", pod("foo", 5))],
    ]


class Broken(Known):
    """Known objects that cannot all be had."""

    def get_by_key(self, key: str) -> Pod | None:
        if key == "broken":
            raise OSError("disk on fire")
        return None if key == "missing" else super().get_by_key(key)


def test_a_known_object_that_cannot_be_read_gets_an_empty_tombstone() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD, Broken(pod("broken"), pod("missing")))
    queue.replace([], "0")

    assert [popped(queue) for _ in range(2)] == [
        [("Deleted", tombstone(None, "broken"))],
        [("Deleted", tombstone(None, "missing"))],
    ]


def test_a_known_object_that_cannot_be_read_is_not_resynced_but_deleted() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD, Broken(pod("broken"), pod("missing"), pod("fine")))
    queue.resync()
    assert queue.list_keys() == ["fine"]

    queue.delete(pod("broken", 3))
    queue.delete(pod("missing", 3))
    assert queue.list_keys() == ["fine", "broken"]


def test_a_resync_does_not_bring_back_an_object_whose_deletion_is_queued() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD, Known(pod("foo", 5)))
    queue.delete(pod("foo", 10))
    queue.resync()

    assert popped(queue) == [("Deleted", pod("foo", 10))]


def test_a_resync_without_known_objects_does_nothing() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD)
    queue.resync()

    assert len(queue) == 0
    assert not queue.has_synced


def test_the_transformer_sees_each_object_once_and_no_tombstone_and_no_resync() -> None:
    transformed: list[Pod] = []

    def transform(obj: Pod) -> Pod:
        assert isinstance(obj, Pod)
        transformed.append(obj)
        return pod(obj.metadata.name, obj.metadata.resource_version, seen="once")

    store = Indexer(POD)
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD, store, transformer=transform, emit_delta_type_replaced=True)
    assert queue.transformer is transform
    queue.add(pod("foo", 10))
    queue.add(pod("bar", 11))
    queue.update(pod("foo", 12))
    queue.delete(pod("foo", 15))
    queue.replace([], "")
    queue.add(pod("bar", 16))
    queue.replace([], "")

    assert queue.list_keys() == ["foo", "bar"]
    assert newest(queue) == pod("foo", 15, seen="once")
    assert newest(queue) == tombstone(pod("bar", 16, seen="once"))
    assert len(transformed) == 5

    store.add(pod("baz", 17, seen="once"))
    queue.resync()
    assert newest(queue) == pod("baz", 17, seen="once")
    queue.delete(tombstone(pod("baz", 17, seen="once")))
    queue.replace([pod("baz", 18)])
    assert [change for change, _ in popped(queue)] == ["Deleted", "Replaced"]
    assert len(transformed) == 6


def test_a_transformer_that_fails_queues_nothing() -> None:
    def transform(_: Pod) -> Pod:
        raise RuntimeError("not today")

    queue: DeltaFIFO[Pod] = DeltaFIFO(POD, transformer=transform)
    with pytest.raises(RuntimeError, match="not today"):
        queue.add(pod("foo"))

    assert len(queue) == 0


def test_draining_takes_what_is_queued_but_no_more_than_asked() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD)
    for name in "abc":
        queue.add(pod(name))
    seen: list[str] = []

    def process(deltas: Sequence[Delta], _: bool) -> None:
        seen.append(deltas[0].key)
        queue.add(pod("late"))

    assert queue.drain(process, 2) == 2
    assert seen == ["a", "b"]
    assert queue.drain(process) == 2
    assert seen == ["a", "b", "c", "late"]
    assert queue.drain(process, 0) == 0


def test_a_process_function_may_drain_the_queue_itself() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD)
    for name in "abc":
        queue.add(pod(name))
    seen: list[str] = []

    def process(deltas: Sequence[Delta], _: bool) -> None:
        seen.append(deltas[0].key)
        queue.drain(process)

    assert queue.drain(process) == 1
    assert seen == ["a", "b", "c"]


@pytest.mark.parametrize("way", ["pop", "drain"])
async def test_what_a_process_function_fails_at_is_gone_and_the_rest_stays(way: str) -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD)
    queue.replace([pod("bad"), pod("good")])

    def fail(_: Sequence[Delta], __: bool) -> None:
        raise RuntimeError("no good")

    async def take() -> None:
        if way == "pop":
            await queue.pop(fail)
        else:
            queue.drain(fail)

    with pytest.raises(RuntimeError, match="no good"):
        await take()

    assert queue.list_keys() == ["good"]
    queue.drain(ignore)
    assert queue.has_synced


async def test_pop_waits_until_there_is_something() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD)
    got: list[Any] = []

    async def consume() -> None:
        got.append(changes(await queue.pop(ignore)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        tasks.start_soon(consume)
        await anyio.wait_all_tasks_blocked()
        queue.replace([pod("foo")])
        await anyio.wait_all_tasks_blocked()
        assert got == [[("Sync", pod("foo"))]]
        queue.update(pod("bar"))

    assert got[1] == [("Updated", pod("bar"))]


async def test_closing_ends_waiting_but_what_is_queued_can_be_popped() -> None:
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD, name="pods")
    ended: list[str] = []

    async def consume() -> None:
        with pytest.raises(FIFOClosed, match="pods: manipulating with closed queue"):
            await queue.pop(ignore)
        ended.append("closed")

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(consume)
        await anyio.wait_all_tasks_blocked()
        assert not queue.is_closed
        queue.close()

    assert queue.is_closed
    assert ended == ["closed"] * 3
    queue.add(pod("foo"))
    assert changes(await queue.pop(ignore)) == [("Added", pod("foo"))]
    with pytest.raises(FIFOClosed):
        await queue.wait()


@pytest.mark.parametrize("size", [999, 1000, 2500])
def test_a_long_list_can_be_queued_in_parts_with_pops_in_between(size: int) -> None:
    store = Indexer(POD)
    store.replace([pod(f"gone-{number}") for number in range(size)])
    queue: DeltaFIFO[Pod] = DeltaFIFO(POD, store, emit_delta_type_replaced=True)
    initial: list[bool] = []

    def process(deltas: Sequence[Delta], is_in_initial_list: bool) -> None:
        initial.append(is_in_initial_list)
        for delta in deltas:
            if delta.type == "Deleted":
                store.delete(delta.object)
            else:
                store.update(delta.object)

    parts = 0
    for _ in queue.replacing([pod(f"new-{number}", 2) for number in range(size)], "2"):
        parts += 1
        assert not queue.has_synced
        queue.drain(process)
    queue.drain(process)

    assert parts == 2 * (size // 1000)
    assert queue.has_synced
    assert initial == [True] * (2 * size)
    assert sorted(store.list_keys()) == sorted(f"new-{number}" for number in range(size))

    for _ in queue.resyncing():
        assert len(queue)
        queue.drain(process)
    queue.drain(process)
    assert len(initial) == 3 * size


def test_a_refused_list_queues_what_comes_before_the_object_without_a_key() -> None:
    # As in client-go. It is no first list, and its deletions are not looked for.
    queue: DeltaFIFO[Any] = DeltaFIFO(None, Known(pod("gone")), emit_delta_type_replaced=True)

    with pytest.raises(ObjectKeyError):
        queue.replace([pod("before"), "a string", pod("after")])

    assert popped(queue) == [("Replaced", pod("before"))]
    assert len(queue) == 0
    assert not queue.has_synced
