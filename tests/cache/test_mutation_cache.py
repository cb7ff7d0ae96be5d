from __future__ import annotations

from typing import Any

import pytest

from kinformer.cache import DeletedFinalStateUnknown, Indexer, IndexNotFound, MutationCache
from kinformer.clock import FakeClock
from tests.cache.objects import POD, Pod, name_of, pod


def app(obj: Pod) -> str:
    return obj.metadata.labels.get("app", "")


def a_cache(**options: Any) -> tuple[Indexer[Pod], MutationCache[Pod]]:
    store = Indexer(POD, {"app": app, "name": name_of})
    return store, MutationCache(store, indexer=store, **options)


def test_the_newer_of_store_and_write_is_given() -> None:
    store, cache = a_cache()
    store.add(pod("web", 1))
    cache.mutation(pod("web", 2))
    assert cache.get_by_key("web") == pod("web", 2)

    store.update(pod("web", 3))
    assert cache.get_by_key("web") == pod("web", 3)


def test_versions_are_numbers_not_texts() -> None:
    store, cache = a_cache()
    store.add(pod("web", 9))
    cache.mutation(pod("web", 10))

    assert cache.get_by_key("web") == pod("web", 10)
    with pytest.raises(ValueError, match="invalid literal"):
        cache.mutation(pod("web", "new"))


def test_an_older_write_does_not_replace_a_newer_one() -> None:
    store, cache = a_cache()
    store.add(pod("web", 1))
    cache.mutation(pod("web", 3))
    cache.mutation(pod("web", 2))

    assert cache.get_by_key("web") == pod("web", 3)


def test_what_is_not_in_the_store_is_given_only_with_adds() -> None:
    _, without = a_cache()
    without.mutation(pod("web", 2, app="shop"))
    assert without.get_by_key("web") is None
    assert without.by_index("app", "shop") == []

    _, cache = a_cache(include_adds=True)
    cache.mutation(pod("web", 2, app="shop"))
    assert cache.get_by_key("web") == pod("web", 2, app="shop")
    assert cache.get_by_key("db") is None
    assert cache.by_index("app", "shop") == [pod("web", 2, app="shop")]
    assert cache.by_index("app", "other") == []


def test_an_index_finds_the_newer_states_of_what_the_store_has_under_the_value() -> None:
    store, cache = a_cache(include_adds=True)
    store.add(pod("web", 1, app="shop"))
    store.add(pod("db", 1, app="shop"))
    cache.mutation(pod("web", 5, app="shop"))

    found = cache.by_index("app", "shop")
    assert sorted(found, key=name_of) == [pod("db", 1, app="shop"), pod("web", 5, app="shop")]
    with pytest.raises(IndexNotFound):
        cache.by_index("nope", "shop")


def test_without_an_indexer_there_is_no_index() -> None:
    with pytest.raises(ValueError, match="no indexer"):
        MutationCache(Indexer(POD)).by_index("app", "shop")


def test_a_write_whose_index_function_fails_is_not_found() -> None:
    def failing(obj: Pod) -> str:
        raise RuntimeError(name_of(obj))

    store: Indexer[Pod] = Indexer(POD, {"bad": failing})
    cache = MutationCache(store, indexer=store, include_adds=True)
    cache.mutation(pod("web", 2))

    assert cache.by_index("bad", "x") == []


def test_writes_are_forgotten_after_some_time() -> None:
    clock = FakeClock()
    store, cache = a_cache(ttl=300, include_adds=True, clock=clock)
    store.add(pod("web", 1))
    cache.mutation(pod("web", 2))
    cache.mutation(pod("added", 2))
    clock.turn(300)
    assert cache.get_by_key("web") == pod("web", 2)
    clock.turn(1)

    assert cache.get_by_key("web") == pod("web", 1)
    assert cache.by_index("name", "added") == []


def test_the_write_that_was_used_longest_ago_is_pushed_out() -> None:
    _, cache = a_cache(max_size=2, include_adds=True)
    cache.mutation(pod("a", 1))
    cache.mutation(pod("b", 2))
    cache.get_by_key("a")
    cache.mutation(pod("c", 3))

    assert [cache.get_by_key(name) is not None for name in "abc"] == [True, False, True]


@pytest.mark.parametrize(("seen", "given"), [(1, 2), (2, 1), (3, 1)])
def test_a_write_is_forgotten_once_the_store_has_caught_up(seen: int, given: int) -> None:
    store, cache = a_cache()
    cache.mutation(pod("web", 2, uid="u1"))
    cache.on_add_or_update(pod("web", seen, uid="u1"))
    # Older than the write, so that it shows whether this is still there.
    store.add(pod("web", 1, uid="u1"))

    assert cache.get_by_key("web") == pod("web", given, uid="u1")


@pytest.mark.parametrize(
    ("uid", "version", "exists"),
    [("u1", 1, False), ("u2", 4, False), ("other", 1, True)],
)
@pytest.mark.parametrize("as_tombstone", [False, True])
def test_a_deletion_forgets_a_write_to_the_same_object_or_one_before_it(
    uid: str, version: int, exists: bool, as_tombstone: bool
) -> None:
    store, cache = a_cache(include_adds=True)
    store.add(pod("web", 2, uid="u1"))
    cache.mutation(pod("web", 3, uid="u1"))
    deleted = pod("web", version, uid=uid)
    store.delete(deleted)
    cache.on_delete(DeletedFinalStateUnknown("web", deleted) if as_tombstone else deleted)

    assert (cache.get_by_key("web") is not None) is exists
    assert len(cache.by_index("name", "web")) == exists


def test_a_tombstone_without_an_object_tells_nothing() -> None:
    _, cache = a_cache(include_adds=True)
    cache.mutation(pod("web", 3))
    cache.on_delete(DeletedFinalStateUnknown("web", None))

    assert cache.get_by_key("web") == pod("web", 3)


def test_a_write_that_is_told_after_its_object_was_deleted_is_ignored() -> None:
    store, cache = a_cache(include_adds=True)
    store.add(pod("web", 1, uid="u1"))
    updated = pod("web", 2, uid="u1")
    store.update(updated)
    store.delete(updated)

    cache.on_add_or_update(updated)
    cache.on_delete(updated)
    cache.mutation(updated)
    assert cache.get_by_key("web") is None
    cache.mutation(pod("web", 3, uid="u1"))
    assert cache.get_by_key("web") is None
    cache.mutation(pod("web", 4, uid="u2"))
    assert cache.get_by_key("web") == pod("web", 4, uid="u2")


def test_a_write_that_is_told_after_its_object_was_replaced_is_ignored() -> None:
    store, cache = a_cache(include_adds=True)
    updated = pod("web", 2, uid="u1")
    replacement = pod("web", 3, uid="u2")
    store.add(replacement)

    cache.on_add_or_update(updated)
    cache.on_delete(updated)
    cache.on_add_or_update(replacement)
    cache.mutation(updated)
    assert cache.get_by_key("web") == replacement


def test_a_deletion_takes_what_one_added_oneself_out_of_the_index() -> None:
    _, cache = a_cache(include_adds=True)
    cache.mutation(pod("web", 2, uid="u1"))
    assert len(cache.by_index("name", "web")) == 1

    cache.on_delete(pod("web", 1, uid="u1"))
    assert cache.by_index("name", "web") == []


def test_a_deletion_that_is_still_remembered_does_not_hide_the_store() -> None:
    store, cache = a_cache()
    cache.on_delete(pod("web", 5, uid="u1"))
    store.add(pod("web", 3, uid="u0"))

    assert cache.get_by_key("web") == pod("web", 3, uid="u0")


def test_what_has_no_key_is_ignored() -> None:
    cache: MutationCache[Any] = MutationCache(Indexer(POD))
    cache.mutation("a string")
    cache.on_add_or_update("a string")
    cache.on_delete("a string")

    assert cache.get_by_key("a string") is None
