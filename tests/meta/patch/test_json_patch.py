from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta.patch import MalformedPatchError, PatchError, apply_json_patch


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        ({"a": 1}, {"op": "add", "path": "/b", "value": [1]}, {"a": 1, "b": [1]}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2]}),
        ({"a": [1, 2]}, {"op": "add", "path": "/a/-1", "value": 3}, {"a": [1, 2, 3]}),
        ({}, {"op": "add", "path": "/a"}, {"a": None}),
        ({"a/b": 1, "c~d": 2}, {"op": "remove", "path": "/a~1b"}, {"c~d": 2}),
        ({"c~d": 2}, {"op": "replace", "path": "/c~0d", "value": 3}, {"c~d": 3}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/-1"}, {"a": [1]}),
        ({"a": {"b": 1}}, {"op": "replace", "path": "/a/b", "value": 2}, {"a": {"b": 2}}),
        ({}, {"op": "replace", "path": "/a", "value": 2}, {"a": 2}),
        ({"a": 1}, {"op": "replace", "path": "", "value": {"b": 2}}, {"b": 2}),
        ({"a": {"b": 1}, "c": {}}, {"op": "move", "from": "/a/b", "path": "/c/d"}, {"a": {}, "c": {"d": 1}}),
        ({"a": [1, 2, 3]}, {"op": "move", "from": "/a/0", "path": "/a/2"}, {"a": [2, 3, 1]}),
        ({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/c"}, {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a": {"b": [1]}}, {"op": "test", "path": "/a", "value": {"b": [1]}}, {"a": {"b": [1]}}),
        ({"a": 1}, {"op": "test", "path": "", "value": {"a": 1}}, {"a": 1}),
        ({}, {"op": "test", "path": "/a", "value": None}, {}),
    ],
)
def test_an_operation_does_what_it_says(document: Any, operation: Any, result: Any) -> None:
    assert apply_json_patch(document, [operation]) == result


@pytest.mark.parametrize(
    ("operation", "complaint"),
    [
        ({"op": "remove", "path": "/none"}, "Unable to remove nonexistent key: none"),
        (
            {"op": "remove", "path": "/none/deeper"},
            'remove operation does not apply: doc is missing path: "/none/deeper"',
        ),
        ({"op": "add", "path": "/none/deeper", "value": 1}, "add operation does not apply"),
        ({"op": "add", "path": "", "value": 1}, "add operation does not apply"),
        ({"op": "add", "path": "/list/3", "value": 1}, "'3' is not an index of a list of 3"),
        ({"op": "add", "path": "/list/x", "value": 1}, "'x' is not an index"),
        ({"op": "replace", "path": "/list/2", "value": 1}, "'2' is not an index of a list of 2"),
        ({"op": "replace", "path": "/list/-", "value": 1}, "'-' is not an index"),
        ({"op": "replace", "path": "/text/x", "value": 1}, "replace operation does not apply"),
        ({"op": "replace", "path": "", "value": 1}, "must be object or array"),
        ({"op": "remove", "path": "/list/-3"}, "'-3' is not an index"),
        ({"op": "move", "from": "/none", "path": "/x"}, "nonexistent key"),
        ({"op": "move", "path": "/x"}, "move operation failed to decode from"),
        ({"op": "add", "path": 3}, "add operation failed to decode path"),
        ({"op": "test", "path": "/text", "value": "other"}, "testing value /text failed"),
        ({"op": "test", "path": "/one", "value": True}, "testing value /one failed"),
        ({"op": "test", "path": "/one", "value": 1.0}, "testing value /one failed"),
        ({"op": "explode", "path": "/x"}, "Unexpected kind: explode"),
        ({"op": ["add"], "path": "/x"}, "Unexpected kind: unknown"),
        ({}, "Unexpected kind: unknown"),
    ],
)
def test_an_unfitting_operation_is_an_error_that_names_its_place(operation: Any, complaint: str) -> None:
    document = {"list": [1, 2], "text": "t", "one": 1}
    before = copy.deepcopy(document)

    with pytest.raises(PatchError) as error:
        apply_json_patch(
            document, [{"op": "add", "path": "/list/-", "value": 9}, {"op": "remove", "path": "/list/2"}, operation]
        )
    assert complaint in str(error.value)
    assert not isinstance(error.value, MalformedPatchError)
    assert document == before


@pytest.mark.parametrize("patch", [None, {}, "x", [1], [None], [[]]])
def test_what_is_no_list_of_operations_is_no_json_patch(patch: Any) -> None:
    with pytest.raises(MalformedPatchError, match="JSON patch"):
        apply_json_patch({}, patch)


def test_the_patch_and_the_result_share_nothing() -> None:
    value = {"b": [1]}
    patch = [{"op": "add", "path": "/a", "value": value}, {"op": "add", "path": "/a/b/-", "value": 2}]

    assert apply_json_patch({}, patch) == {"a": {"b": [1, 2]}}
    assert value == {"b": [1]}


PATHS = st.lists(st.sampled_from(["", "a", "0", "1", "-", "-1", "~1"]), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": PATHS},
    optional={"from": PATHS, "value": st.sampled_from([None, 1, "x", [], {}, {"a": [1]}])},
)


@given(st.lists(OPERATIONS, max_size=6))
def test_any_operations_give_a_document_or_a_patch_error(patch: list[Any]) -> None:
    try:
        result = apply_json_patch({"a": [{"a": 1}, 2], "": {"a": None}}, patch)
    except PatchError:
        return
    assert isinstance(result, dict | list)
