from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from kinformer.cache import (
    NAMESPACE_INDEX,
    Indexer,
    IndexerConflict,
    IndexFunc,
    IndexFuncError,
    IndexNotFound,
    index_func_to_key_func,
    meta_namespace_index_func,
    namespace_index_func,
)
from tests.cache.objects import POD, Pod, name_of, pod


def app(obj: Pod) -> str:
    return obj.metadata.labels.get("app", "")


def users(obj: Pod) -> list[str]:
    return [user for user in obj.metadata.labels.get("users", "").split(",") if user]


def names(pods: list[Pod]) -> list[str]:
    return sorted(map(name_of, pods))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "a"),
        ("a", ""),
        ("a", "a,b"),
        ("a,b", "b"),
        ("a,b", "b,c"),
        ("a,b", "a,b"),
        ("a,a", "a"),
        ("a", "a,a"),
        ("a,b", ""),
        ("a", "b"),
    ],
)
def test_an_update_moves_an_object_to_exactly_its_new_values(before: str, after: str) -> None:
    indexer = Indexer(POD, {"users": users})
    indexer.add(pod("other", users="b"))
    indexer.add(pod("one", 1, users=before))
    new = pod("one", 2, users=after)
    indexer.update(new)

    for user in ("a", "b", "c"):
        found = [obj for obj in indexer.by_index("users", user) if name_of(obj) == "one"]
        assert found == ([new] if user in users(new) else [])
    indexer.delete(new)
    assert indexer.list_index_func_values("users") == ["b"]


def test_index_keys_are_good_for_get_by_key() -> None:
    indexer = Indexer(POD, {"app": app})
    indexer.add(pod("one", namespace="ns", app="web"))

    assert indexer.index_keys("app", "web") == ["ns/one"]
    assert indexer.index_keys("app", "db") == []
    assert [indexer.get_by_key(key) for key in indexer.index_keys("app", "web")] == [
        pod("one", namespace="ns", app="web")
    ]


def test_an_index_that_is_not_there_is_an_error_that_names_it() -> None:
    indexer = Indexer(POD)

    for ask in (
        lambda: indexer.by_index("app", "web"),
        lambda: indexer.index_keys("app", "web"),
        lambda: indexer.index("app", pod("one")),
    ):
        with pytest.raises(IndexNotFound, match="Index with name app does not exist"):
            ask()
    assert indexer.list_index_func_values("app") == []


def test_indexes_can_be_added_later_and_find_what_is_there() -> None:
    indexer = Indexer(POD, {"app": app})
    indexer.add(pod("one", app="web", users="ernie"))
    indexer.add(pod("two", app="web", users="ernie,bert"))
    indexer.add(pod("tre", app="db"))

    indexer.add_indexers({"users": users, NAMESPACE_INDEX: namespace_index_func(POD)})

    assert names(indexer.by_index("users", "ernie")) == ["one", "two"]
    assert names(indexer.by_index(NAMESPACE_INDEX, "")) == ["one", "tre", "two"]
    indexer.update(pod("one", 2, app="web"))
    assert names(indexer.by_index("users", "ernie")) == ["two"]
    assert set(indexer.get_indexers()) == {"app", "users", NAMESPACE_INDEX}


def test_an_index_whose_name_is_taken_is_refused_and_none_is_added() -> None:
    indexer = Indexer(POD, {"app": app})

    with pytest.raises(IndexerConflict, match="indexes named app"):
        indexer.add_indexers({"users": users, "app": users})

    assert set(indexer.get_indexers()) == {"app"}


def test_adding_an_index_that_fails_for_an_object_adds_nothing() -> None:
    indexer = Indexer(POD)
    indexer.add(pod("one"))

    def failing(_: Pod) -> str:
        raise RuntimeError("boom")

    with pytest.raises(IndexFuncError, match="key 'one' on index 'bad': boom"):
        indexer.add_indexers({"bad": failing})

    assert indexer.get_indexers() == {}


def no_string(_: Pod) -> Any:
    return [7]


def nothing(_: Pod) -> Any:
    return None


def unhashable(_: Pod) -> Any:
    return [["a"]]


def failing(_: Pod) -> str:
    raise RuntimeError("boom")


class Speechless(Exception):
    def __str__(self) -> str:
        raise AttributeError("no text")


def speechless(_: Pod) -> str:
    raise Speechless


@pytest.mark.parametrize("bad", [no_string, nothing, unhashable, failing, speechless])
def test_an_index_function_that_fails_leaves_the_store_as_it_was(bad: IndexFunc[Pod]) -> None:
    angry = False

    def func(obj: Pod) -> str | Collection[str]:
        return bad(obj) if angry else app(obj)

    indexer = Indexer(POD, {"app": app, "bad": func})
    old = pod("one", app="web")
    indexer.add(old)
    angry = True

    with pytest.raises(IndexFuncError, match="unable to calculate an index entry for key 'one' on index 'bad'") as e:
        indexer.update(pod("one", 2, app="db"))
    with pytest.raises(IndexFuncError):
        indexer.replace([pod("two")])

    assert (e.value.index, e.value.key) == ("bad", "one")
    assert indexer.list() == [old]
    assert indexer.by_index("app", "web") == [old]


@pytest.mark.parametrize("bad", [no_string, nothing, unhashable, failing])
def test_an_object_leaves_an_index_whose_function_now_fails_for_it(bad: IndexFunc[Pod]) -> None:
    angry = False

    def func(obj: Pod) -> str | Collection[str]:
        return bad(obj) if angry else app(obj)

    indexer = Indexer(POD, {"bad": func})
    old, other = pod("one", app="web"), pod("two", app="web")
    indexer.add(old)
    indexer.add(other)
    angry = True

    assert indexer.delete(old) is old
    assert indexer.list() == indexer.by_index("bad", "web") == [other]


@pytest.mark.parametrize("bad", [no_string, nothing, unhashable, failing])
def test_with_a_listener_an_object_stays_but_leaves_the_failing_index(bad: IndexFunc[Pod]) -> None:
    told: list[tuple[str, str]] = []

    def func(obj: Pod) -> str | Collection[str]:
        return bad(obj) if obj.metadata.labels.get("app") == "bad" else app(obj)

    indexer = Indexer(
        POD, {"app": app, "func": func}, on_index_error=lambda index, key, error: told.append((index, key))
    )
    good, worse = pod("one", 1, app="web"), pod("one", 2, app="bad")
    indexer.add(good)
    indexer.update(worse)
    assert indexer.list() == indexer.by_index("app", "bad") == [worse]
    assert indexer.by_index("func", "web") == indexer.index("func", good) == []

    indexer.update(good)
    assert indexer.by_index("func", "web") == [good]

    indexer.replace([worse, pod("two", app="web")])
    indexer.add_indexers({"late": func})
    assert [obj.metadata.name for obj in indexer.by_index("func", "web")] == ["two"]
    assert indexer.list_index_func_values("late") == ["web"]
    assert told == [("func", "one"), ("func", "one"), ("late", "one")]

    indexer.delete(worse)
    assert indexer.list_keys() == ["two"]


def test_an_unchanged_value_asks_the_function_for_the_new_object_only() -> None:
    asked: list[Pod] = []

    def func(obj: Pod) -> list[str]:
        asked.append(obj)
        return [app(obj)]

    indexer = Indexer(POD, {"app": func})
    old, new = pod("one", 1, app="web"), pod("one", 2, app="web")
    indexer.add(old)
    asked.clear()
    indexer.update(new)

    assert asked == [new]
    assert indexer.by_index("app", "web") == [new]


def test_the_namespace_index_functions_agree() -> None:
    obj = pod("one", namespace="shop")

    assert namespace_index_func(POD)(obj) == meta_namespace_index_func(obj) == "shop"


def test_an_index_function_of_one_value_each_makes_a_key_function() -> None:
    key = index_func_to_key_func(users)

    assert key(pod("one", users="ernie")) == "ernie"
    assert index_func_to_key_func(app)(pod("one", app="web")) == "web"
    with pytest.raises(ValueError, match="too many keys"):
        key(pod("one", users="ernie,bert"))
    with pytest.raises(ValueError, match="unexpected empty"):
        key(pod("one"))
