from __future__ import annotations

import random

import anyio
import pytest

from kinformer.cache import FIFOClosed, Heap, ObjectKeyError
from tests.cache.objects import POD, Pod, name_of, pod


def number(obj: Pod) -> int:
    return int(obj.metadata.resource_version)


def a_heap(*pods: Pod) -> Heap[Pod]:
    heap: Heap[Pod] = Heap(POD, lambda one, other: number(one) < number(other))
    heap.bulk_add(pods)
    return heap


def emptied(heap: Heap[Pod]) -> list[int]:
    return [number(heap.pop_nowait()) for _ in range(len(heap))]


def test_the_least_comes_out_first_in_whatever_order_they_went_in() -> None:
    for seed in range(5):
        order = list(range(200))
        random.Random(seed).shuffle(order)
        assert emptied(a_heap(*(pod(f"pod-{item}", item) for item in order))) == list(range(200))


def test_adding_again_takes_the_place_of_the_object_up_or_down() -> None:
    heap = a_heap(pod("foo", 10), pod("bar", 1), pod("baz", 11), pod("zab", 30))
    heap.add(pod("foo", 13))
    heap.update(pod("zab", 0))

    assert emptied(heap) == [0, 1, 11, 13]


def test_adding_if_not_present_leaves_what_is_there() -> None:
    heap = a_heap(pod("foo", 10))
    heap.add_if_not_present(pod("foo", 1))
    heap.add_if_not_present(pod("bar", 20))

    assert emptied(heap) == [10, 20]


def test_what_is_deleted_does_not_come_out() -> None:
    heap = a_heap(*(pod(f"pod-{item}", item) for item in range(6)))
    for gone in ("pod-0", "pod-3", "pod-5"):
        heap.delete(pod(gone))
    with pytest.raises(LookupError, match="pod-3 not found"):
        heap.delete(pod("pod-3"))

    assert emptied(heap) == [1, 2, 4]
    heap.add(pod("pod-0", 7))
    assert emptied(heap) == [7]


def test_objects_can_be_looked_at() -> None:
    heap = a_heap(pod("foo", 10), pod("bar", 1))

    assert heap.get(pod("foo")) == heap.get_by_key("foo") == pod("foo", 10)
    assert heap.get(pod("baz")) is heap.get_by_key("baz") is None
    assert sorted(heap.list_keys()) == ["bar", "foo"]
    assert sorted(map(name_of, heap.list())) == ["bar", "foo"]


async def test_pop_waits_until_there_is_something() -> None:
    heap = a_heap()
    got: list[int] = []

    async def consume() -> None:
        got.append(number(await heap.pop()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        tasks.start_soon(consume)
        await anyio.wait_all_tasks_blocked()
        heap.bulk_add([pod("foo", 2), pod("bar", 1)])

    assert got == [1, 2]


async def test_closing_ends_waiting_and_adding_but_not_popping() -> None:
    heap = a_heap()

    async def consume() -> None:
        with pytest.raises(FIFOClosed, match="heap is closed"):
            await heap.pop()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        await anyio.wait_all_tasks_blocked()
        assert not heap.is_closed
        heap.close()

    full = a_heap(pod("foo", 1))
    full.close()
    assert full.is_closed
    for add in (full.add, full.update, full.add_if_not_present, lambda obj: full.bulk_add([obj])):
        with pytest.raises(FIFOClosed, match="heap is closed"):
            add(pod("bar"))
    assert number(await full.pop()) == 1


def test_popping_nothing_is_an_error() -> None:
    with pytest.raises(IndexError):
        a_heap().pop_nowait()


def test_what_has_no_key_is_refused() -> None:
    with pytest.raises(ObjectKeyError):
        a_heap().add("a string")  # type: ignore[arg-type]  # what is wrong with it is the point


def test_a_heap_whose_objects_change_all_the_time_does_not_grow() -> None:
    heap = a_heap(pod("foo", 0), pod("bar", 0))
    for item in range(1000):
        heap.update(pod("foo", item))
    for item in range(1000):
        heap.add(pod("baz", item))
        heap.delete(pod("baz"))

    assert len(heap._heap) <= 2 * len(heap) + 17
    assert emptied(heap) == [0, 999]
