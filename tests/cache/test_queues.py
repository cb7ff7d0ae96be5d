"""What the three queues have in common: FIFO, DeltaFIFO and RealFIFO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from kinformer.cache import FIFO, DeletedFinalStateUnknown, DeltaFIFO, FIFOClosed, ObjectKeyError, RealFIFO
from tests.cache.objects import POD, Known, Pod, changes, name_of, pod

Make = Callable[[], Any]

FOO, FOO3 = pod("foo", 2), pod("foo", 3)
GONE, GONE3 = DeletedFinalStateUnknown("foo", FOO), DeletedFinalStateUnknown("foo", FOO3)

of_deltas = pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: DeltaFIFO(POD, emit_delta_type_replaced=True), id="DeltaFIFO"),
        pytest.param(lambda: DeltaFIFO(POD, Known(), emit_delta_type_replaced=True), id="DeltaFIFO that knows nothing"),
        pytest.param(lambda: RealFIFO(POD, Known()), id="RealFIFO"),
    ],
)
ANY: dict[str, Make] = {
    "FIFO": lambda: FIFO(POD),
    "DeltaFIFO": lambda: DeltaFIFO(POD),
    "RealFIFO": lambda: RealFIFO(POD, Known()),
}
of_any_kind = pytest.mark.parametrize("make", ANY.values(), ids=ANY)


def ignore(_: object, __: bool) -> None: ...


@of_any_kind
async def test_what_is_added_comes_out_in_order_whoever_adds_it(make: Make) -> None:
    queue = make()
    seen: dict[str, list[int]] = {"a": [], "b": []}

    async def produce(prefix: str) -> None:
        for number in range(100):
            queue.add(pod(f"{prefix}{number}", number))
            if number % 7 == 0:
                await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(produce, "a")
        tasks.start_soon(produce, "b")
        for _ in range(200):
            popped = await queue.pop(ignore)
            obj: Pod = popped if isinstance(queue, FIFO) else popped[0].object
            seen[name_of(obj)[0]].append(int(obj.metadata.resource_version))

    assert seen == {"a": list(range(100)), "b": list(range(100))}


@of_any_kind
def test_who_processes_is_told_what_belongs_to_the_first_list(make: Make) -> None:
    queue = make()
    queue.replace([FOO])
    queue.add(pod("bar"))
    told: list[tuple[str, bool]] = []

    def process(popped: Any, in_initial_list: bool) -> None:
        obj = popped if isinstance(queue, FIFO) else popped[0].object
        told.append((name_of(obj), in_initial_list))

    while len(queue):
        queue.pop_nowait(process)

    assert told == [("foo", True), ("bar", False)]


@of_deltas
@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (lambda queue: (queue.add(FOO), queue.replace([])), [("Added", FOO), ("Deleted", GONE)]),
        (
            lambda queue: (queue.add(FOO), queue.replace([FOO]), queue.replace([])),
            [("Added", FOO), ("Replaced", FOO), ("Deleted", GONE)],
        ),
        (
            lambda queue: (queue.add(FOO), queue.delete(FOO), queue.replace([])),
            [("Added", FOO), ("Deleted", FOO)],
        ),
        (
            lambda queue: (queue.add(FOO), queue.replace([FOO]), queue.replace([FOO]), queue.replace([])),
            [("Added", FOO), ("Replaced", FOO), ("Replaced", FOO), ("Deleted", GONE)],
        ),
        (
            lambda queue: (queue.add(FOO), queue.replace([]), queue.replace([])),
            [("Added", FOO), ("Deleted", GONE)],
        ),
        (
            lambda queue: (queue.add(FOO), queue.delete(FOO), queue.add(FOO3), queue.replace([])),
            [("Added", FOO), ("Deleted", FOO), ("Added", FOO3), ("Deleted", GONE3)],
        ),
    ],
)
def test_an_object_that_is_only_queued_is_deleted_once_by_a_list(
    make: Make, operations: Callable[[Any], object], expected: list[tuple[str, Any]]
) -> None:
    queue = make()
    operations(queue)
    pops = []
    while len(queue):
        pops.append(changes(queue.pop_nowait(ignore)))

    assert pops == ([[one] for one in expected] if isinstance(queue, RealFIFO) else [expected])


def pop(queue: Any) -> None:
    queue.pop_nowait(ignore)


A, B = pod("a"), pod("b")


@pytest.mark.parametrize(
    ("kind", "actions", "synced"),
    [
        *((kind, [], False) for kind in ANY),
        *((kind, [lambda queue: queue.add(A)], True) for kind in ANY),
        *((kind, [lambda queue: queue.update(A)], True) for kind in ANY),
        *((kind, [lambda queue: queue.delete(A)], True) for kind in ANY),
        *((kind, [lambda queue: queue.resync()], False) for kind in ANY),
        *((kind, [lambda queue: queue.replace([])], True) for kind in ANY),
        *((kind, [lambda queue: queue.replace([A, B])], False) for kind in ANY),
        *((kind, [lambda queue: queue.replace([A, B]), pop], False) for kind in ANY),
        *((kind, [lambda queue: queue.replace([A, B]), pop, pop], True) for kind in ANY),
        ("FIFO", [lambda queue: queue.replace([A, B]), lambda queue: queue.delete(A), pop], True),
        ("DeltaFIFO", [lambda queue: queue.replace([A, pod("a", 2)]), pop], True),
        ("DeltaFIFO", [lambda queue: queue.replace([A]), lambda queue: queue.add(B), pop], True),
        ("RealFIFO", [lambda queue: queue.delete(DeletedFinalStateUnknown("a", A))], True),
        ("RealFIFO", [lambda queue: queue.replace([A, pod("a", 2)]), pop], False),
        ("RealFIFO", [lambda queue: queue.replace([A, pod("a", 2)]), pop, pop], True),
    ],
)
async def test_it_has_synced_once_the_first_list_is_popped(
    kind: str, actions: list[Callable[[Any], object]], synced: bool
) -> None:
    queue = ANY[kind]()
    for action in actions:
        action(queue)

    assert queue.has_synced is synced
    async with anyio.create_task_group() as tasks:
        waited: list[bool] = []

        async def wait() -> None:
            await queue.wait_synced()
            waited.append(queue.has_synced)

        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert waited == [True] * synced


@of_any_kind
def test_popping_nothing_is_an_error(make: Make) -> None:
    with pytest.raises(IndexError):
        pop(make())


@pytest.mark.parametrize("kind", [DeltaFIFO, RealFIFO])
def test_an_update_whose_key_is_known_is_an_update_like_any_other(kind: Any) -> None:
    def seen(obj: Pod) -> Pod:
        transformed.append(obj)
        return obj

    transformed: list[Pod] = []
    queues = [kind(POD, Known(), transformer=seen) for _ in range(2)]
    for obj in (A, B, pod("a", 3)):
        queues[0].update(obj)
        queues[1].update_keyed(queues[1].key_func(obj), obj)

    assert len(transformed) == 6
    assert len(queues[0]) == len(queues[1])
    while len(queues[0]):
        assert queues[1].pop_nowait(ignore) == queues[0].pop_nowait(ignore)
    assert all(queue.has_synced for queue in queues)


@of_any_kind
async def test_closing_ends_waiting(make: Make) -> None:
    queue = make()
    ended: list[str] = []

    async def consume(pop: Callable[[], Any]) -> None:
        with pytest.raises(FIFOClosed):
            await pop()
        ended.append("closed")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume, lambda: queue.pop(ignore))
        if isinstance(queue, RealFIFO):
            tasks.start_soon(consume, lambda: queue.pop_batch(ignore, ignore))
        else:
            tasks.start_soon(consume, lambda: queue.pop(ignore))
        await anyio.wait_all_tasks_blocked()
        queue.close()

    assert ended == ["closed"] * 2


@of_deltas
def test_the_queue_makes_the_keys_of_objects_and_tombstones(make: Make) -> None:
    queue = make()

    assert queue.key_of(pod("A")) == "A"
    assert queue.key_of(DeletedFinalStateUnknown("B", None)) == "B"


@of_any_kind
@pytest.mark.parametrize("method", ["add", "update", "delete"])
def test_what_has_no_key_is_refused_by_name(make: Make, method: str) -> None:
    queue = make()

    with pytest.raises(ObjectKeyError, match="couldn't create key for object 'a string'"):
        getattr(queue, method)("a string")
    assert len(queue) == 0


@of_any_kind
def test_a_list_with_an_object_without_a_key_is_refused(make: Make) -> None:
    queue = make()

    with pytest.raises(ObjectKeyError):
        queue.replace([pod("fine"), "a string"])
