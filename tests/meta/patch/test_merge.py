from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta.patch import MalformedPatchError, create_merge_patch, merge_patch

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text("ab", max_size=2)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES)


def no_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: no_nulls(item) for key, item in value.items() if item is not None}
    return [no_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": {"b": 1}}, {"a": []}, {"a": []}),
    ],
)
def test_a_merge_patch_sets_and_removes(original: Any, patch: Any, result: Any) -> None:
    assert merge_patch(original, patch) == result


def test_nulls_within_new_lists_are_left_out_as_a_server_does() -> None:
    assert merge_patch({}, {"a": [{"b": None, "c": 1}, None]}) == {"a": [{"c": 1}, None]}


@pytest.mark.parametrize("patch", [None, [], "x", 1, True])
def test_what_is_no_object_is_no_merge_patch(patch: Any) -> None:
    with pytest.raises(MalformedPatchError, match="a merge patch is an object"):
        merge_patch({}, patch)


def test_a_difference_is_no_more_than_it_must_be() -> None:
    original = {"spec": {"replicas": 1, "paused": True}, "status": {"x": 1}}
    modified = {"spec": {"replicas": 2}, "status": {"x": 1}}

    assert create_merge_patch(original, modified) == {"spec": {"replicas": 2, "paused": None}}
    assert create_merge_patch(original, original) == {}
    assert create_merge_patch({"a": 1}, {"a": True}) == {"a": True}


@given(OBJECTS.map(no_nulls), OBJECTS.map(no_nulls))
def test_the_difference_makes_the_one_of_the_other_and_changes_neither(original: Any, modified: Any) -> None:
    before = copy.deepcopy(original)

    assert repr(sorted_keys(merge_patch(original, create_merge_patch(original, modified)))) == repr(
        sorted_keys(modified)
    )
    assert original == before


def sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value
