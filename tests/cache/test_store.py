from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.cache import (
    FIFO,
    DeletedFinalStateUnknown,
    ExpirationCache,
    ExplicitKey,
    Indexer,
    ObjectKeyError,
    Store,
    Transaction,
    TransactionError,
    TransactionType,
    UndeltaStore,
)
from tests.cache.objects import POD, Pod, name_of, pod


def ignore(_: object) -> None: ...


STORES: dict[str, Callable[[], Store[Pod]]] = {
    "indexer": lambda: Indexer(POD),
    "transforming": lambda: Indexer(POD, transform=lambda obj: obj),
    "undelta": lambda: UndeltaStore(ignore, POD),
    "expiring": lambda: ExpirationCache(60, POD),
}


@pytest.mark.parametrize("make", STORES.values(), ids=STORES)
def test_every_store_keeps_the_last_object_of_each_key(make: Callable[[], Store[Pod]]) -> None:
    store = make()
    store.add(pod("foo", 1))
    assert store.get(pod("foo")) == pod("foo", 1)
    store.update(pod("foo", 2))
    assert store.get_by_key("foo") == pod("foo", 2)
    store.delete(pod("foo"))
    assert store.get(pod("foo")) is None
    store.delete(pod("foo"))

    store.add(pod("a", 1))
    store.add(pod("b", 2))
    store.add(pod("c", 3))
    assert sorted(store.list_keys()) == ["a", "b", "c"]
    assert sorted(map(name_of, store.list())) == ["a", "b", "c"]

    store.replace([pod("foo", 4), pod("bar", 5)], "5")
    assert sorted(store.list_keys()) == ["bar", "foo"]
    assert store.get_by_key("a") is None
    assert store.last_store_sync_resource_version() == "5"
    store.bookmark("6")
    assert store.last_store_sync_resource_version() == "6"
    store.resync()

    store.delete(DeletedFinalStateUnknown("foo", None))
    assert store.list_keys() == ["bar"]


@pytest.mark.parametrize("make", STORES.values(), ids=STORES)
def test_no_store_takes_what_has_no_key(make: Callable[[], Any]) -> None:
    store = make()
    store.add(pod("foo"))

    for method in (store.add, store.update, store.delete, store.get):
        with pytest.raises(ObjectKeyError, match="couldn't create key"):
            method("a string")
    with pytest.raises(ObjectKeyError):
        store.replace([pod("bar"), "a string"])
    assert store.list_keys() == ["foo"]


def test_a_fifo_serves_as_a_store_for_a_reflector() -> None:
    queue: FIFO[Pod] = FIFO(POD)
    queue.add(pod("foo"))
    queue.replace([pod("bar")], "1")

    assert len(queue) == 1


def test_a_store_can_be_asked_by_an_explicit_key() -> None:
    indexer: Indexer[Any] = Indexer(POD)
    indexer.add(pod("foo", namespace="ns"))

    assert indexer.get(ExplicitKey("ns/foo")) == pod("foo", namespace="ns")
    indexer.delete(ExplicitKey("ns/foo"))
    assert indexer.list() == []


def test_objects_are_transformed_once_before_they_are_stored() -> None:
    def labelled(obj: Pod) -> Pod:
        return pod(obj.metadata.name, obj.metadata.resource_version, seen=obj.metadata.labels.get("seen", "") + "x")

    indexer = Indexer(POD, {"seen": lambda obj: obj.metadata.labels["seen"]}, transform=labelled)
    indexer.add(pod("a"))
    indexer.update(pod("a", 2))
    indexer.transaction([Transaction(TransactionType.ADD, pod("b"))])
    assert [obj.metadata.labels["seen"] for obj in indexer.list()] == ["x", "x"]

    indexer.replace([pod("c")])
    assert indexer.by_index("seen", "x") == [pod("c", seen="x")]


def test_a_transaction_makes_its_changes_in_order() -> None:
    indexer = Indexer(POD)
    indexer.add(pod("gone"))
    indexer.transaction(
        [
            Transaction(TransactionType.ADD, pod("a", 1)),
            Transaction(TransactionType.UPDATE, pod("a", 2)),
            Transaction(TransactionType.DELETE, DeletedFinalStateUnknown("gone", None)),
            Transaction(TransactionType.UPDATE, pod("b", 3)),
        ]
    )

    assert indexer.list() == [pod("a", 2), pod("b", 3)]
    assert indexer.last_store_sync_resource_version() == "3"


@pytest.mark.parametrize(
    ("objects", "successful"),
    [
        (["bad", "worse"], []),
        ([pod("a"), "bad", pod("b"), "worse"], [0, 2]),
        ([DeletedFinalStateUnknown("a"), pod("b")], [1]),
    ],
)
def test_a_transaction_makes_what_can_be_made_and_names_the_rest(objects: list[Any], successful: list[int]) -> None:
    indexer = Indexer(POD)

    with pytest.raises(TransactionError, match=rf"failed to execute \(\d/{len(objects)}\)") as caught:
        indexer.transaction([Transaction(TransactionType.ADD, obj) for obj in objects])

    assert caught.value.successful_indices == successful
    assert caught.value.total_transactions == len(objects)
    assert len(caught.value.errors) == len(objects) - len(successful)
    assert indexer.list() == [objects[index] for index in successful]


def test_an_empty_transaction_is_nothing() -> None:
    Indexer(POD).transaction([])


def test_objects_are_a_mapping_that_shows_every_change() -> None:
    store = Indexer(POD)
    objects = store.objects
    store.add(pod("foo", 1))
    store.add(pod("bar", 1))
    assert objects == {key: store.get_by_key(key) for key in store.list_keys()}
    assert objects.get("default/none") is None
    for key, obj in objects.items():
        store.delete(obj)  # a loop is over the objects of one moment
        with pytest.raises(KeyError, match=key):
            objects[key]
    assert dict(objects) == {}
