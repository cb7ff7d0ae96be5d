from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import resourcelist
from kinformer.meta.quantity import Format, Quantity, QuantityError
from kinformer.meta.resourcelist import ResourceList, dump, load

AMOUNTS = st.builds(Quantity, st.integers(-(10**15), 10**15), st.sampled_from(list(Format)))
LISTS = st.dictionaries(st.sampled_from(["cpu", "memory", "pods"]), AMOUNTS)


def test_a_list_is_read_from_an_object_and_written_back_canonically() -> None:
    assert dump(load({"cpu": "1000m", "memory": "1.5Gi", "pods": 3})) == {"cpu": "1", "memory": "1536Mi", "pods": "3"}
    assert load(None) == {}
    with pytest.raises(QuantityError, match="'lots'"):
        load({"cpu": "lots"})


def test_what_is_in_one_list_only_is_taken_as_the_operation_says() -> None:
    a, b = load({"cpu": "1", "pods": "2"}), load({"pods": "3", "memory": "1Gi"})

    assert dump(resourcelist.add(a, b)) == {"cpu": "1", "pods": "5", "memory": "1Gi"}
    assert dump(resourcelist.subtract(a, b)) == {"cpu": "1", "pods": "-1", "memory": "-1Gi"}
    assert dump(resourcelist.subtract_non_negative(a, b)) == {"cpu": "1", "pods": "0", "memory": "0"}
    assert dump(resourcelist.maximum(a, b)) == {"cpu": "1", "pods": "3", "memory": "1Gi"}
    assert dump(resourcelist.mask(a, b)) == {"pods": "2"}


def test_less_than_or_equal_looks_at_what_both_have() -> None:
    a, b = load({"cpu": "1", "pods": "2", "memory": "1"}), load({"pods": "1", "memory": "0", "cpu": "1000m"})

    assert not resourcelist.less_than_or_equal(a, b)
    assert resourcelist.exceeding(a, b) == ["memory", "pods"]
    assert resourcelist.less_than_or_equal(a, load({"other": "0"}))


def test_zeros_and_what_is_below_zero() -> None:
    amounts = load({"cpu": "0", "pods": "-1", "memory": "-1Gi", "x": "1"})

    assert resourcelist.is_negative(amounts) == ["memory", "pods"]
    assert set(resourcelist.remove_zeros(amounts)) == {"pods", "memory", "x"}
    assert resourcelist.is_zero(load({"cpu": "0", "memory": "0Mi"}))
    assert resourcelist.is_zero({})
    assert not resourcelist.is_zero(amounts)


def test_lists_are_equal_by_amount() -> None:
    assert resourcelist.equals(load({"cpu": "1"}), load({"cpu": "1000m"}))
    assert not resourcelist.equals(load({"cpu": "1"}), load({"cpu": "1", "memory": "0"}))


def test_names_are_told_once_and_sorted() -> None:
    assert resourcelist.intersection(["b", "a", "b"], ["c", "b", "a"]) == ["a", "b"]
    assert resourcelist.difference(["b", "a", "b", "c"], ["c"]) == ["a", "b"]


@given(LISTS, LISTS)
def test_subtracting_undoes_adding_and_nothing_is_changed(a: ResourceList, b: ResourceList) -> None:
    before = dump(a), dump(b)

    result = resourcelist.remove_zeros(resourcelist.subtract(resourcelist.add(a, b), b))

    assert result == resourcelist.remove_zeros(a)
    assert resourcelist.less_than_or_equal(a, resourcelist.maximum(a, b))
    assert not resourcelist.is_negative(resourcelist.subtract_non_negative(a, b))
    assert (dump(a), dump(b)) == before


@given(st.lists(LISTS))
def test_a_total_is_what_adding_one_by_one_gives(lists: list[ResourceList]) -> None:
    assert dump(resourcelist.total(lists)) == dump(reduce(resourcelist.add, lists, {}))
