from __future__ import annotations

from typing import Any

import pytest

from kinformer.cache import NAMESPACE_INDEX, Indexer, list_all, list_all_by_namespace, namespace_index_func
from kinformer.meta import Accessor
from kinformer.meta.selectors import Everything, Nothing, Selector, parse_selector
from tests.cache.objects import POD, Pod, name_of, pod

INDEXED = {NAMESPACE_INDEX: namespace_index_func(POD)}


def a_store(**options: Any) -> Indexer[Pod]:
    store = Indexer(POD, **options)
    for number in range(10):
        store.add(pod(f"pod-{number}", namespace=f"ns-{number % 2}", match=str(number < 4).lower()))
    return store


def numbers(pods: list[Pod]) -> list[int]:
    return sorted(int(name_of(obj).removeprefix("pod-")) for obj in pods)


@pytest.mark.parametrize("accessor", [None, POD])
@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, list(range(10))),
        (Everything, list(range(10))),
        (Nothing, []),
        (parse_selector("match=true"), [0, 1, 2, 3]),
        (parse_selector("match=maybe"), []),
    ],
)
def test_a_selector_picks_by_labels(
    selector: Selector | None, expected: list[int], accessor: Accessor[Pod] | None
) -> None:
    assert numbers(list_all(a_store(), selector, accessor=accessor)) == expected


@pytest.mark.parametrize("accessor", [None, POD])
@pytest.mark.parametrize("indexers", [None, INDEXED], ids=["scanning", "by index"])
def test_a_namespace_narrows_it_with_or_without_an_index(indexers: Any, accessor: Accessor[Pod] | None) -> None:
    store = a_store(indexers=indexers)
    matching = parse_selector("match=true")

    def listed(namespace: str, selector: Selector | None = None) -> list[int]:
        return numbers(list_all_by_namespace(store, namespace, selector, accessor=accessor))

    assert listed("ns-1") == [1, 3, 5, 7, 9]
    assert listed("ns-1", matching) == [1, 3]
    assert listed("ns-1", Nothing) == []
    assert listed("elsewhere", matching) == []
    assert listed("", matching) == [0, 1, 2, 3]


def test_everything_is_not_asked_for_its_labels() -> None:
    store: Indexer[Any] = Indexer(str)
    store.add("no labels here")

    assert list_all(store, Everything) == ["no labels here"]
