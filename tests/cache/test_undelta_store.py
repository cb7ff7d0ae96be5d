from __future__ import annotations

from kinformer.cache import Transaction, TransactionType, UndeltaStore
from tests.cache.objects import POD, Pod, pod


def a_store() -> tuple[UndeltaStore[Pod], list[list[Pod]]]:
    pushed: list[list[Pod]] = []
    return UndeltaStore(pushed.append, POD), pushed


def test_each_update_pushes_all_objects() -> None:
    store, pushed = a_store()
    store.add(pod("a", 1))
    store.update(pod("a", 2))
    assert store.add(pod("b", 1)) is None

    assert pushed == [[pod("a", 1)], [pod("a", 2)], [pod("a", 2), pod("b", 1)]]


def test_each_delete_pushes_what_is_left() -> None:
    store, pushed = a_store()
    store.add(pod("a"))
    pushed.clear()
    assert store.delete(pod("a")) == pod("a")
    store.delete(pod("a"))

    assert pushed == [[], []]


def test_reads_push_nothing() -> None:
    store, pushed = a_store()
    store.list()
    store.list_keys()
    store.get(pod("a"))
    store.get_by_key("a")

    assert pushed == []


def test_a_list_pushes_once() -> None:
    store, pushed = a_store()
    store.replace([pod("a"), pod("b")], "1")
    store.replace([])

    assert pushed == [[pod("a"), pod("b")], []]


def test_each_change_of_a_transaction_pushes() -> None:
    store, pushed = a_store()
    store.transaction([Transaction(TransactionType.ADD, pod("a")), Transaction(TransactionType.DELETE, pod("a"))])

    assert pushed == [[pod("a")], []]
