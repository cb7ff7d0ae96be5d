from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from kinformer.cache import (
    BookmarkInfo,
    DeletedFinalStateUnknown,
    Delta,
    Indexer,
    ObjectKeyError,
    RealFIFO,
    ReplacedAllInfo,
)
from tests.cache.objects import POD, Known, Pod, changes, name_of, pod


def ignore(_: object, __: bool) -> None: ...


def popped(queue: RealFIFO[Any]) -> tuple[str, Any]:
    (change,) = changes(queue.pop_nowait(ignore))
    return change


def all_popped(queue: RealFIFO[Any]) -> list[tuple[str, Any]]:
    return [popped(queue) for _ in range(len(queue))]


def tombstone(obj: Pod | None, key: str = "") -> DeletedFinalStateUnknown[Pod]:
    return DeletedFinalStateUnknown(key or (name_of(obj) if obj else ""), obj)


def a_queue(*known: Pod) -> RealFIFO[Pod]:
    return RealFIFO(POD, Known(*known))


def an_atomic_queue() -> RealFIFO[Pod]:
    return RealFIFO(POD, atomic_events=True, emit_delta_type_bookmark=True)


def test_every_change_is_popped_alone_in_the_order_of_events() -> None:
    queue = a_queue()
    for name, version in (("foo", 10), ("bar", 1), ("foo", 11)):
        queue.add(pod(name, version))
    queue.update(pod("foo", 12))
    queue.delete(pod("foo", 13))
    assert popped(queue) == ("Added", pod("foo", 10))
    queue.add(pod("foo", 14))

    assert all_popped(queue) == [
        ("Added", pod("bar", 1)),
        ("Added", pod("foo", 11)),
        ("Updated", pod("foo", 12)),
        ("Deleted", pod("foo", 13)),
        ("Added", pod("foo", 14)),
    ]


def test_deletions_are_neither_dropped_nor_made_one() -> None:
    queue = a_queue()
    queue.delete(pod("unheard of"))
    queue.delete(pod("unheard of"))
    queue.delete(tombstone(pod("unheard of")))

    assert len(all_popped(queue)) == 3
    assert queue.has_synced


def test_a_list_with_an_object_whose_deletion_is_queued_brings_it_back() -> None:
    queue = a_queue(pod("foo", 1))
    queue.delete(pod("foo", 1))
    queue.replace([pod("foo", 2)], "0")

    assert all_popped(queue) == [("Deleted", pod("foo", 1)), ("Replaced", pod("foo", 2))]


def test_a_list_comes_after_what_was_queued_before() -> None:
    queue = a_queue()
    queue.add(pod("foo", 10))
    queue.replace([pod("foo", 15)], "0")

    assert all_popped(queue) == [("Added", pod("foo", 10)), ("Replaced", pod("foo", 15))]


FOO = pod("foo", 2)


def test_a_list_is_queued_as_deletions_first_and_then_its_objects() -> None:
    queue = a_queue(pod("foo", 5), pod("bar", 6), pod("baz", 7))
    queue.delete(pod("baz", 10))
    queue.replace([pod("foo", 6)], "0")

    assert all_popped(queue) == [
        ("Deleted", pod("baz", 10)),
        ("Deleted", tombstone(pod("bar", 6))),
        ("Replaced", pod("foo", 6)),
    ]


def test_a_tombstone_holds_the_queued_state_rather_than_the_known_one() -> None:
    queue = a_queue(pod("foo", 5), pod("bar", 6), pod("baz", 7))
    queue.add(pod("baz", 10))
    queue.replace([pod("foo", 6)], "0")

    assert all_popped(queue) == [
        ("Added", pod("baz", 10)),
        ("Deleted", tombstone(pod("baz", 10))),
        ("Deleted", tombstone(pod("bar", 6))),
        ("Replaced", pod("foo", 6)),
    ]


def test_a_list_with_an_object_without_a_key_queues_nothing() -> None:
    queue: RealFIFO[Any] = RealFIFO(POD, Known(pod("known")))

    with pytest.raises(ObjectKeyError):
        queue.replace([pod("fine"), "a string"])
    assert len(queue) == 0


def test_a_resync_queues_what_is_known_and_not_queued() -> None:
    queue = a_queue(pod("foo", 5), pod("bar", 6))
    queue.delete(pod("bar", 10))
    queue.resync()
    queue.resync()

    assert all_popped(queue) == [("Deleted", pod("bar", 10)), ("Sync", pod("foo", 5))]


def test_a_resync_does_not_put_the_known_state_after_a_newer_one() -> None:
    queue = a_queue(pod("foo", 5))
    queue.update(pod("foo", 6))
    queue.resync()

    assert all_popped(queue) == [("Updated", pod("foo", 6))]


def test_a_resync_passes_over_what_has_gone_meanwhile() -> None:
    class Vanishing(Known):
        def get_by_key(self, key: str) -> Pod | None:
            return None

    queue: RealFIFO[Pod] = RealFIFO(POD, Vanishing(pod("foo")))
    queue.resync()
    assert len(queue) == 0


def test_the_transformer_sees_each_object_once_and_no_tombstone_and_no_resync() -> None:
    transformed: list[Pod] = []

    def transform(obj: Pod) -> Pod:
        assert isinstance(obj, Pod)
        transformed.append(obj)
        return pod(obj.metadata.name, obj.metadata.resource_version, seen="once")

    store = Indexer(POD)
    queue: RealFIFO[Pod] = RealFIFO(POD, store, transformer=transform)
    queue.add(pod("foo", 10))
    queue.delete(pod("foo", 15))
    queue.add(pod("bar", 16))
    queue.replace([pod("baz", 17)], "")
    store.add(pod("known", 1))
    queue.resync()

    assert all_popped(queue) == [
        ("Added", pod("foo", 10, seen="once")),
        ("Deleted", pod("foo", 15, seen="once")),
        ("Added", pod("bar", 16, seen="once")),
        ("Deleted", tombstone(pod("bar", 16, seen="once"))),
        ("Replaced", pod("baz", 17, seen="once")),
        ("Sync", pod("known", 1)),
    ]
    assert len(transformed) == 4


def test_it_has_not_synced_while_the_first_lists_last_object_is_processed() -> None:
    queue = a_queue(pod("foo", 5), pod("bar", 6), pod("baz", 7))
    queue.replace([pod("foo", 5)], "0")
    seen: list[tuple[str, bool, bool]] = []

    while len(queue):
        assert not queue.has_synced
        queue.pop_nowait(lambda deltas, initial: seen.append((deltas[0].key, initial, queue.has_synced)))

    assert seen == [("bar", True, False), ("baz", True, False), ("foo", True, False)]
    assert queue.has_synced


async def test_what_a_process_function_fails_at_is_gone_and_counts_as_processed() -> None:
    queue = a_queue()
    queue.replace([pod("bad"), pod("worse")])

    def fail(_: Sequence[Delta], __: bool) -> None:
        raise RuntimeError("no good")

    with pytest.raises(RuntimeError, match="no good"):
        await queue.pop(fail)
    assert len(queue) == 1
    with pytest.raises(RuntimeError, match="no good"):
        queue.drain(fail)
    assert queue.has_synced


def batches(queue: RealFIFO[Any]) -> list[tuple[list[str], bool]]:
    seen: list[tuple[list[str], bool]] = []

    def single(deltas: Sequence[Delta], initial: bool) -> None:
        assert len(deltas) == 1
        seen.append(([f"{deltas[0].type} {deltas[0].key}".strip()], initial))

    def batch(deltas: Sequence[Delta], initial: bool) -> None:
        assert len(deltas) > 1
        seen.append(([f"{delta.type} {delta.key}" for delta in deltas], initial))

    while queue.pop_batch_nowait(batch, single):
        pass
    return seen


@pytest.mark.parametrize(
    ("listed", "updated", "size", "expected"),
    [
        ("abc", "", 1000, [("Raa", "abc")]),
        ("ab", "cd", 2, [("R", "ab"), ("U", "cd")]),
        ("a", "aa", 1000, [("R", "a"), ("U", "a"), ("U", "a")]),
        ("ab", "bc", 1000, [("R", "ab"), ("U", "bc")]),
        ("abc", "b", 1000, [("R", "abc"), ("U", "b")]),
        ("abc", "", 2, [("R", "ab"), ("R", "c")]),
        ("", "abc", 2, [("U", "ab"), ("U", "c")]),
        ("abc", "d", 2, [("R", "ab"), ("R", "c"), ("U", "d")]),
    ],
)
def test_a_batch_has_each_object_once_and_ends_with_the_first_list(
    listed: str, updated: str, size: int, expected: list[tuple[str, str]]
) -> None:
    queue: RealFIFO[Pod] = RealFIFO(POD, Known(*map(pod, listed)), batch_size=size)
    queue.replace([pod(name) for name in listed], "123")
    for name in updated:
        queue.update(pod(name))

    words = {"R": "Replaced", "U": "Updated"}
    assert batches(queue) == [
        ([f"{words[kind[0]]} {name}" for name in names], kind[0] == "R") for kind, names in expected
    ]
    assert queue.has_synced


def test_what_is_about_all_objects_is_in_no_batch() -> None:
    queue = an_atomic_queue()
    queue.add(pod("a"))
    queue.add(pod("b"))
    queue.bookmark("5")
    queue.resync()
    queue.replace([pod("a")], "6")
    queue.update(pod("a", 7))

    assert [names for names, _ in batches(queue)] == [
        ["Added a", "Added b"],
        ["Bookmark"],
        ["SyncAll"],
        ["ReplacedAll"],
        ["Updated a"],
    ]


async def test_a_batch_can_be_waited_for() -> None:
    queue = a_queue()
    seen: list[int] = []

    async def consume() -> None:
        seen.append(await queue.pop_batch(ignore, ignore))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        await anyio.wait_all_tasks_blocked()
        queue.add(pod("a"))
        queue.add(pod("b"))

    assert seen == [2]
    assert queue.pop_batch_nowait(ignore, ignore) == 0


def test_a_batch_that_fails_is_gone_and_counts_as_processed() -> None:
    queue = a_queue()
    queue.replace([pod("a"), pod("b")])

    def fail(_: Sequence[Delta], __: bool) -> None:
        raise RuntimeError("no good")

    with pytest.raises(RuntimeError, match="no good"):
        queue.pop_batch_nowait(fail, ignore)
    assert queue.has_synced


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (lambda queue: queue.replace([], "123"), [("ReplacedAll", ReplacedAllInfo("123", []))]),
        (
            lambda queue: (queue.add(FOO), queue.replace([], "123")),
            [("Added", FOO), ("ReplacedAll", ReplacedAllInfo("123", []))],
        ),
        (
            lambda queue: (queue.add(FOO), queue.replace([FOO], "10"), queue.replace([FOO], "20"), queue.replace([])),
            [
                ("Added", FOO),
                ("ReplacedAll", ReplacedAllInfo("10", [FOO])),
                ("ReplacedAll", ReplacedAllInfo("20", [FOO])),
                ("ReplacedAll", ReplacedAllInfo("", [])),
            ],
        ),
        (
            lambda queue: (queue.bookmark("123"), queue.replace([], "1234")),
            [("Bookmark", BookmarkInfo("123")), ("ReplacedAll", ReplacedAllInfo("1234", []))],
        ),
        (lambda queue: queue.resync(), [("SyncAll", None)]),
        (lambda queue: (queue.add(FOO), queue.resync()), [("Added", FOO), ("SyncAll", None)]),
    ],
)
def test_atomic_events_are_one_delta_each_in_order(
    operations: Callable[[Any], object], expected: list[tuple[str, Any]]
) -> None:
    queue = an_atomic_queue()
    operations(queue)

    assert all_popped(queue) == expected


def test_with_atomic_events_it_has_synced_once_the_list_is_popped() -> None:
    queue = an_atomic_queue()
    queue.replace([], "1")
    assert not queue.has_synced

    popped(queue)
    assert queue.has_synced


def test_the_objects_of_an_atomic_list_are_transformed() -> None:
    queue: RealFIFO[Pod] = RealFIFO(
        POD, atomic_events=True, transformer=lambda obj: pod(obj.metadata.name, seen="once")
    )
    queue.replace([pod("foo")], "1")

    assert popped(queue) == ("ReplacedAll", ReplacedAllInfo("1", [pod("foo", seen="once")]))


def test_bookmarks_are_dropped_unless_asked_for() -> None:
    queue: RealFIFO[Pod] = RealFIFO(POD, atomic_events=True)
    queue.bookmark("5")

    assert len(queue) == 0


@pytest.mark.parametrize(
    "options",
    [
        {"known_objects": Known(), "atomic_events": True},
        {},
        {"known_objects": Known(), "emit_delta_type_bookmark": True},
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="pods: "):
        RealFIFO(POD, **options, name="pods")


def test_a_long_list_and_a_resync_can_be_queued_in_parts() -> None:
    queue = a_queue(*(pod(f"pod-{number}") for number in range(1500)))
    seen: list[bool] = []

    def process(_: Sequence[Delta], initial: bool) -> None:
        seen.append(initial)

    for _ in queue.replacing([pod(f"pod-{number}", 2) for number in range(1500)], "2"):
        assert queue.drain(process) == 1000
    assert not queue.has_synced
    queue.drain(process)
    assert queue.has_synced
    assert seen == [True] * 1500

    for _ in queue.resyncing():
        assert queue.drain(process) == 1000
    assert queue.drain(process) == 500


def test_many_deletions_of_a_list_can_be_queued_in_parts() -> None:
    queue = a_queue(*(pod(f"pod-{number}") for number in range(2500)))

    assert [len(queue) for _ in queue.replacing([], "2")] == [1000, 2000]
    assert len(queue) == 2500
