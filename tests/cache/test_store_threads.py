"""Readers in threads while the event loop writes: what they see is always one state of the store."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from kinformer.cache import Indexer
from tests.cache.objects import POD, Pod, pod

ROUNDS = 3000


def colours(obj: Pod) -> list[str]:
    return obj.metadata.labels["colours"].split(",")


def parity(obj: Pod) -> str:
    return str(version(obj) % 2)


def version(obj: Pod) -> int:
    return int(obj.metadata.resource_version)


@pytest.fixture(autouse=True)
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def with_readers(write: Callable[[], None], *reads: Callable[[], None]) -> None:
    """Write in this thread while others read again and again."""
    stop = threading.Event()
    errors: list[BaseException] = []
    rounds = [0] * len(reads)

    def read(number: int) -> None:
        try:
            while not stop.is_set():
                reads[number]()
                rounds[number] += 1
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(len(reads))]
    for thread in threads:
        thread.start()
    try:
        write()
        while not errors and min(rounds) < 10:
            write()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def a_store() -> Indexer[Pod]:
    return Indexer(POD, {"colours": colours, "parity": parity})


def test_what_is_found_under_a_value_has_that_value() -> None:
    store = a_store()
    choices = random.Random(1)

    def write() -> None:
        for number in range(ROUNDS):
            name = f"pod-{choices.randrange(20)}"
            if choices.random() < 0.2:
                store.delete(pod(name))
            else:
                some = ",".join(choices.sample(["red", "green", "blue"], choices.randint(1, 3)))
                store.update(pod(name, number, colours=some))

    def read_buckets() -> None:
        for colour in store.list_index_func_values("colours"):
            for obj in store.by_index("colours", colour):
                assert colour in colours(obj)
        for obj in store.by_index("parity", "0"):
            assert version(obj) % 2 == 0

    def read_several() -> None:
        found = store.index("colours", pod("question", colours="red,blue"))
        assert all({"red", "blue"} & set(colours(obj)) for obj in found)
        names = [obj.metadata.name for obj in found]
        assert len(names) == len(set(names))

    with_readers(write, read_buckets, read_several)


def test_an_object_that_changes_its_value_is_always_found_once() -> None:
    store = a_store()
    store.add(pod("mover", 0, colours="red"))

    def write() -> None:
        for number in range(ROUNDS):
            store.update(pod("mover", number, colours=("red", "blue")[number % 2]))

    def read() -> None:
        assert len(store.index("colours", pod("question", colours="red,blue"))) == 1

    with_readers(write, read, read)


def test_a_change_seen_in_one_place_is_seen_everywhere() -> None:
    store = a_store()
    store.add(pod("web", 0, colours="red"))
    newest = 0

    def write() -> None:
        nonlocal newest
        for _ in range(ROUNDS):
            newest += 2
            store.update(pod("web", newest, colours="red"))

    def the_object() -> int:
        found = store.get_by_key("web")
        assert found is not None
        return version(found)

    looks: tuple[Callable[[], int], ...] = (
        the_object,
        lambda: version(store.list()[0]),
        lambda: version(store.by_index("colours", "red")[0]),
        lambda: version(store.by_index("parity", "0")[0]),
    )

    def read() -> None:
        seen = 0
        for look in random.choices(looks, k=20):
            now = look()
            assert now >= seen
            seen = now

    with_readers(write, read, read)


def test_a_list_is_a_snapshot() -> None:
    store = a_store()
    for name in ("a", "b"):
        store.add(pod(name, 0, colours="red"))

    def write() -> None:
        for number in range(1, ROUNDS):
            # "a" is always written first.
            store.update(pod("a", number, colours="red"))
            store.update(pod("b", number, colours="red"))

    def read() -> None:
        for a, b in (store.list(), store.by_index("colours", "red")):
            assert version(a) - version(b) in (0, 1, 1 - ROUNDS + 1)

    with_readers(write, read, read)


def test_lists_replace_each_other_whole() -> None:
    store = a_store()
    lists = [[pod(f"pod-{number}", version, colours="red") for number in range(50)] for version in (2, 4)]

    def write() -> None:
        for number in range(ROUNDS // 20):
            store.replace(lists[number % 2])

    def read() -> None:
        for found in (store.list(), store.by_index("colours", "red"), store.by_index("parity", "0")):
            assert len(found) in (0, 50)
            assert len({obj.metadata.resource_version for obj in found}) <= 1

    with_readers(write, read, read)


def test_indexes_may_be_added_while_others_read() -> None:
    store = a_store()
    for number in range(50):
        store.add(pod(f"pod-{number}", number, colours="red"))

    def write() -> None:
        for _ in range(50):
            number = len(store.get_indexers())
            store.add_indexers({f"index-{number}": parity})

    def read() -> None:
        for name in store.get_indexers():
            if name != "colours":
                assert len(store.by_index(name, "0")) == 25

    with_readers(write, read)
