from __future__ import annotations

import anyio
import pytest

from kinformer.cache import FIFO
from tests.cache.objects import POD, Pod, pod


def ignore(_: object, __: bool) -> None: ...


def popped(queue: FIFO[Pod]) -> Pod:
    return queue.pop_nowait(ignore)


def test_an_object_that_changes_waits_once_with_its_newest_state() -> None:
    queue: FIFO[Pod] = FIFO(POD)
    queue.add(pod("foo", 10))
    queue.update(pod("foo", 15))

    assert popped(queue) == pod("foo", 15)
    assert len(queue) == 0


def test_a_changed_object_keeps_its_place_and_a_popped_one_goes_last() -> None:
    queue: FIFO[Pod] = FIFO(POD)
    for name, version in (("foo", 10), ("bar", 1), ("foo", 11), ("foo", 13), ("zab", 30)):
        queue.add(pod(name, version))

    assert popped(queue) == pod("foo", 13)
    queue.add(pod("foo", 14))
    assert [popped(queue) for _ in range(3)] == [pod("bar", 1), pod("zab", 30), pod("foo", 14)]


def test_a_list_takes_the_place_of_what_is_queued() -> None:
    queue: FIFO[Pod] = FIFO(POD)
    queue.add(pod("foo", 10))
    queue.add(pod("bar", 10))
    queue.replace([pod("foo", 15)], "0")

    assert popped(queue) == pod("foo", 15)
    assert len(queue) == 0


def test_what_is_deleted_before_its_turn_is_not_processed() -> None:
    queue: FIFO[Pod] = FIFO(POD)
    queue.add(pod("foo"))
    queue.add(pod("bar"))
    queue.delete(pod("foo"))
    queue.delete(pod("unheard of"))

    assert popped(queue) == pod("bar")
    with pytest.raises(IndexError):
        popped(queue)


def test_a_process_function_may_delete_what_is_still_queued() -> None:
    queue: FIFO[Pod] = FIFO(POD)
    queue.replace([pod("foo"), pod("bar"), pod("baz")])
    processed: list[tuple[str, bool]] = []

    def process(obj: Pod, in_initial_list: bool) -> None:
        processed.append((obj.metadata.name, in_initial_list))
        queue.delete(pod("bar"))

    assert queue.drain(process) == 2
    assert processed == [("foo", True), ("baz", True)]
    assert queue.has_synced


async def test_a_first_list_that_was_deleted_again_counts_as_popped() -> None:
    queue: FIFO[Pod] = FIFO(POD)
    queue.replace([pod("a")])
    queue.delete(pod("a"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.pop, ignore)
        await anyio.wait_all_tasks_blocked()
        assert queue.has_synced
        tasks.cancel_scope.cancel()
