from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta.patch import apply_json_patch, create_json_patch

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab/~", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=3), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text("ab/~", max_size=3), VALUES, max_size=4)


@given(OBJECTS, OBJECTS)
def test_the_patch_makes_the_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert apply_json_patch(before, create_json_patch(before, after)) == after


@given(OBJECTS)
def test_what_is_equal_needs_no_patch(obj: dict[str, Any]) -> None:
    assert create_json_patch(obj, obj) == []


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a/b": 1}, {}, [{"op": "remove", "path": "/a~1b"}]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, [{"op": "replace", "path": "/a/0/b", "value": 2}]),
        ({"a": [1]}, {"a": [1, 2]}, [{"op": "replace", "path": "/a", "value": [1, 2]}]),
    ],
)
def test_an_operation_is_as_small_as_it_may_be(before: Any, after: Any, patch: Any) -> None:
    assert create_json_patch(before, after) == patch


def test_fields_that_neither_has_stay_as_they_are() -> None:
    stored = {"spec": {"known": 1, "unknown": {"x": 1}}}

    patched = apply_json_patch(stored, create_json_patch({"spec": {"known": 1}}, {"spec": {"known": 2}}))

    assert patched == {"spec": {"known": 2, "unknown": {"x": 1}}}
