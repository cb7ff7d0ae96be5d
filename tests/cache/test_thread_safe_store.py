from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from kinformer.cache import DeletedFinalStateUnknown, ThreadSafeStore, thread_safe_store
from tests.cache.objects import Pod, pod


def app(obj: Pod) -> str:
    return obj.metadata.labels.get("app", "")


def first_two_letters(obj: str) -> list[str]:
    return [obj[:1], obj[:2]]


@pytest.mark.parametrize("values", ["new", ["new"], ["new", "other"], []])
def test_the_index_function_is_called_once_for_a_new_object(values: Any) -> None:
    asked: list[str] = []

    def index(obj: str) -> Any:
        asked.append(obj)
        return values

    store = ThreadSafeStore[str]({"index": index})
    store.update("a", "one")

    assert asked == ["one"]
    assert store.list_index_func_values("index") == ([values] if isinstance(values, str) else values)


def test_replacing_has_the_new_objects_and_no_others_in_indexes_too() -> None:
    store: ThreadSafeStore[str] = ThreadSafeStore({"letters": first_two_letters})
    store.add("one", "ab")
    items = {"two": "cd", "tre": "ce"}
    store.replace(items, "5")
    items.clear()

    assert store.list() == ["cd", "ce"]
    assert store.list_keys() == ["two", "tre"]
    assert store.by_index("letters", "c") == ["cd", "ce"]
    assert store.by_index("letters", "a") == []
    store.update("two", "ab")
    assert store.by_index("letters", "c") == ["ce"]


def test_the_version_of_the_store_is_that_of_its_last_change() -> None:
    store: ThreadSafeStore[Pod] = ThreadSafeStore()
    version = store.last_store_sync_resource_version
    assert version() == ""

    store.add("one", pod("one", 10))
    assert version() == "10"
    store.update("two", pod("two", 20))
    assert version() == "20"
    store.delete("two", pod("two", 30))
    assert version() == "30"
    store.delete("one")
    assert version() == "30"
    store.delete("one", DeletedFinalStateUnknown("one", pod("one", 40)))
    assert version() == "30"
    store.bookmark("50")
    assert version() == "50"
    store.replace({"two": pod("two", 20)}, "60")
    assert version() == "60"


def test_objects_without_metadata_leave_the_version_of_the_last_list() -> None:
    store: ThreadSafeStore[object] = ThreadSafeStore()
    store.replace({}, "60")
    store.add("number", 7)

    assert store.last_store_sync_resource_version() == "60"


def test_a_transaction_is_visible_to_its_thread_now_and_others_later() -> None:
    store: ThreadSafeStore[str] = ThreadSafeStore({"letters": first_two_letters})
    reads: dict[Callable[[], object], object] = {
        lambda: store.get("two"): "ac",
        store.list: ["ab", "ac"],
        store.list_keys: ["one", "two"],
        store.copy: {"one": "ab", "two": "ac"},
        lambda: store.by_index("letters", "a"): ["ab", "ac"],
        lambda: store.index_keys("letters", "a"): ["one", "two"],
        lambda: store.list_index_func_values("letters"): ["a", "ab", "ac"],
        store.get_indexers: {"letters": first_two_letters},
        store.last_store_sync_resource_version: "7",
    }
    all_begin = threading.Barrier(len(reads) + 1, timeout=60)
    seen: dict[Callable[[], object], object] = {}

    def read(look: Callable[[], object]) -> None:
        all_begin.wait()
        seen[look] = look()

    readers = [threading.Thread(target=read, args=(look,)) for look in reads]
    for reader in readers:
        reader.start()
    with store.transaction():
        store.add("one", "ab")
        assert store.list() == ["ab"]
        all_begin.wait()
        for reader in readers:
            reader.join(0.005)
        assert seen == {}
        store.add("two", "ac")
        store.bookmark("7")
    for reader in readers:
        reader.join()

    assert seen == reads


def test_a_transaction_that_raises_is_over() -> None:
    store: ThreadSafeStore[str] = ThreadSafeStore()

    def change_my_mind() -> None:
        with store.transaction():
            store.add("one", "ab")
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        change_my_mind()

    seen: list[list[str]] = []
    reader = threading.Thread(target=lambda: seen.append(store.list()))
    reader.start()
    reader.join()
    assert seen == [["ab"]]


def test_a_reader_does_not_wait_for_ever_for_a_writer_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_safe_store, "_PATIENCE", 3)
    store: ThreadSafeStore[str] = ThreadSafeStore({"letters": first_two_letters})
    store.add("one", "ab")
    seen: list[object] = []

    def read() -> None:
        seen.extend((store.get("one"), store.list(), store.list_keys(), store.list_index_func_values("letters")))
        seen.append(store.index_keys("letters", "a"))

    with store.transaction():
        reader = threading.Thread(target=read)
        reader.start()
        reader.join()

    assert seen == ["ab", ["ab"], ["one"], ["a", "ab"], ["one"]]


def test_a_look_up_of_several_values_reads_one_snapshot() -> None:
    store: ThreadSafeStore[str]

    class Sly(str):
        """A value at whose look-up another object of the store changes, as if by another thread."""

        __slots__ = ()

        def __hash__(self) -> int:
            if store.get("mover") == "xy":
                store.update("mover", "ab")
            return super().__hash__()

    def values(obj: str) -> list[str]:
        return [obj[:1], Sly(obj[:2])] if obj == "question xy" else [obj]

    store = ThreadSafeStore({"values": values})
    store.add("mover", "xy")
    store.add("stays", "q")

    assert store.index("values", "question xy") == ["q"]
    assert store.get("mover") == "ab"
