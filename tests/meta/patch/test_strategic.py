from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta.names import GroupVersionKind
from kinformer.meta.patch import (
    TYPES,
    Field,
    MalformedPatchError,
    PatchError,
    apply_json_patch,
    merge_patch,
    schema_for,
    strategic_merge_patch,
)
from tests.meta.patch.differences import create_two_way_merge_patch

POD = GroupVersionKind("", "v1", "Pod")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
SERVICE = GroupVersionKind("", "v1", "Service")


def names(result: Any, field: str = "containers") -> list[str]:
    return [item["name"] for item in result["spec"][field]]


def pod(*containers: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": name, "image": "i"} for name in containers], **spec},
    }


def test_a_merged_lists_entries_merge_by_key_and_others_stay() -> None:
    result = strategic_merge_patch(pod("a", "b"), {"spec": {"containers": [{"name": "b", "image": "new"}]}}, POD)

    assert result["spec"]["containers"] == [{"name": "a", "image": "i"}, {"name": "b", "image": "new"}]


def test_an_object_can_be_replaced_or_emptied_by_directive() -> None:
    original = {"metadata": {"labels": {"a": "1", "b": "2"}}}

    replaced = strategic_merge_patch(original, {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}, POD)
    emptied = strategic_merge_patch(original, {"metadata": {"labels": {"$patch": "delete"}}}, POD)

    assert replaced == {"metadata": {"labels": {"c": "3"}}}
    assert emptied == {"metadata": {"labels": {}}}


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        ([], "a strategic merge patch is an object, not a list"),
        ({"spec": {"$retainKeys": "containers"}}, "invalid patch format of retainKeys"),
        ({"spec": {"$retainKeys": ["containers"], "nodeName": "n"}}, "invalid patch format of retainKeys"),
        ({"metadata": {"$deleteFromPrimitiveList": ["a"]}}, "invalid patch format of primitive list"),
        ({"metadata": {"$setElementOrderfinalizers": ["a"]}}, "invalid patch format of setElementOrder list"),
    ],
)
def test_what_is_no_patch_is_malformed(patch: Any, complaint: str) -> None:
    with pytest.raises(MalformedPatchError, match=complaint):
        strategic_merge_patch(pod("a"), patch, POD)


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        ({"spec": {"$patch": "explode"}}, "unknown patch type: explode"),
        ({"spec": {"containers": [{"image": "i"}]}}, "does not contain declared merge key: name"),
        ({"spec": {"containers": [{"$patch": "delete"}]}}, "does not contain declared merge key: name"),
        ({"spec": {"containers": [{"name": "a", "$patch": "merge"}]}}, "merging lists cannot yet be specified"),
        ({"spec": {"containers": [{"name": "a", "$patch": 3}]}}, "unknown patch type: 3"),
        ({"spec": {"containers": ["a"]}}, "list element types are not identical"),
        ({"spec": {"containers": [["a"]]}}, "lists of lists"),
        ({"spec": {"$setElementOrder/containers": "a"}}, "expected a list, but received a string"),
        ({"spec": {"$setElementOrder/containers": ["a"]}}, "expected an object|declared merge key"),
        (
            {"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]}},
            "doesn't match \\$setElementOrder list",
        ),
        (
            {
                "spec": {
                    "$setElementOrder/containers": [{"name": "a"}],
                    "containers": [{"name": "a"}, {"$patch": "replace"}],
                }
            },
            "declared merge key",
        ),
        ({"spec": {"$deleteFromPrimitiveList/containers": [{"name": "a"}], "containers": None}}, ""),
    ],
)
def test_what_does_not_fit_is_an_error_and_changes_nothing(patch: Any, complaint: str) -> None:
    original = pod("a", "c")
    before = copy.deepcopy((original, patch))

    if complaint:
        with pytest.raises(PatchError, match=complaint):
            strategic_merge_patch(original, patch, POD)
    else:
        strategic_merge_patch(original, patch, POD)
    assert (original, patch) == before


def test_a_patch_that_is_nested_too_deeply_is_malformed() -> None:
    patch: Any = {}
    for _ in range(5000):
        patch = {"a": patch}

    with pytest.raises(MalformedPatchError, match="nested too deeply"):
        strategic_merge_patch({}, patch, POD)
    with pytest.raises(MalformedPatchError, match="nested too deeply"):
        merge_patch({}, patch)
    with pytest.raises(MalformedPatchError, match="nested too deeply"):
        apply_json_patch({}, [{"op": "add", "path": "/a", "value": patch}])


def test_custom_resources_take_no_such_patches() -> None:
    with pytest.raises(PatchError, match=r"example.com/v1, Kind=Pod: .* not for custom resources"):
        strategic_merge_patch({}, {}, GroupVersionKind("example.com", "v1", "Pod"))
    assert schema_for(GroupVersionKind("", "v1", "ConfigMap"))["metadata"] == Field("ObjectMeta")


def test_one_may_bring_a_schema_of_ones_own() -> None:
    schema = {"rules": Field(merge=True, key="id")}

    assert strategic_merge_patch({"rules": [{"id": 1}]}, {"rules": [{"id": 2}]}, schema) == {
        "rules": [{"id": 2}, {"id": 1}]
    }


def test_every_type_that_a_field_names_is_told() -> None:
    for name, fields in TYPES.items():
        for field in fields.values():
            assert not field.type or field.type in TYPES, (name, field)


TEXTS = st.sampled_from(["x", "y", "z"])


def entries(key: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    entry = st.fixed_dictionaries({key: st.sampled_from("abcd")}, optional=fields)
    return st.lists(entry, max_size=4, unique_by=lambda item: item[key])


PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(TEXTS, TEXTS),
                "finalizers": st.lists(TEXTS, unique=True),
                "ownerReferences": entries("uid", name=TEXTS),
            },
        ),
        "spec": st.fixed_dictionaries(
            {"containers": entries("name", image=TEXTS, env=entries("name", value=TEXTS), args=st.lists(TEXTS))},
            optional={
                "nodeName": TEXTS,
                "volumes": entries("name", emptyDir=st.just({}), configMap=st.fixed_dictionaries({"name": TEXTS})),
                "tolerations": st.lists(st.fixed_dictionaries({"key": TEXTS})),
            },
        ),
    }
)


@given(PODS, PODS)
def test_the_difference_of_two_pods_makes_the_one_of_the_other(original: Any, modified: Any) -> None:
    before = copy.deepcopy((original, modified))

    patch = create_two_way_merge_patch(original, modified, POD)

    assert strategic_merge_patch(original, patch, POD) == modified
    assert (original, modified) == before


DIRECTIVES = ["$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers"]
JUNK = st.recursive(
    st.none() | st.integers(0, 2) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(DIRECTIVES) | st.sampled_from(["spec", "metadata", "containers", "finalizers", "name"]),
            inner | st.sampled_from(["delete", "replace", "merge"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(PODS, st.fixed_dictionaries({}, optional={"spec": JUNK, "metadata": JUNK, "$patch": JUNK, "$retainKeys": JUNK}))
def test_any_patch_gives_an_object_or_a_patch_error(original: Any, patch: Any) -> None:
    before = copy.deepcopy((original, patch))
    try:
        result = strategic_merge_patch(original, patch, POD)
    except PatchError:
        result = {}
    assert isinstance(result, dict)
    assert (original, patch) == before


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        # what is to be deleted from a list that is not there
        ({}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {}),
        # an order for a list that is not there, or is not changed, or is new
        ({}, {"$setElementOrder/finalizers": ["a"]}, {}),
        ({"finalizers": ["a", "b"]}, {"$setElementOrder/finalizers": ["b", "a"]}, {"finalizers": ["b", "a"]}),
        ({}, {"$setElementOrder/finalizers": ["b", "a"], "finalizers": ["b"]}, {"finalizers": ["b"]}),
        # an order that names nothing, for new entries: Go's sort takes what it cannot place for less than anything
        (
            {"finalizers": ["a"]},
            {"$setElementOrder/finalizers": [], "finalizers": ["b", "c"]},
            {"finalizers": ["a", "c", "b"]},
        ),
        # a list that is not merged takes the patch's entries, in the order that is set
        ({"other": ["a", "b"]}, {"$setElementOrder/other": ["c", "b"], "other": ["c", "b"]}, {"other": ["c", "b"]}),
        # entries to delete from a list that is new
        (
            {},
            {"ownerReferences": [{"uid": "a"}, {"uid": "b", "$patch": "delete"}]},
            {"ownerReferences": [{"uid": "a"}]},
        ),
        ({}, {"labels": {"$patch": "delete"}}, {}),
        ({}, {"labels": {"$patch": None}}, {"labels": {}}),
        ({"labels": "odd"}, {"labels": {"$patch": "delete"}}, {}),
        ({"finalizers": []}, {"finalizers": []}, {"finalizers": []}),
        ({"labels": {"a": "1"}}, {"labels": {"a": None, "b": None}}, {"labels": {}}),
    ],
)
def test_corners_are_as_in_go(original: Any, patch: Any, result: Any) -> None:
    assert strategic_merge_patch({"metadata": original}, {"metadata": patch}, POD) == {"metadata": result}


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        ({"$setElementOrder/x": [], "x": []}, "no elements in any of the given slices"),
        ({"$setElementOrder/x": ["a"], "x": ["b"]}, "doesn't match"),
        ({"$deleteFromPrimitiveList/list": [{"a": 1}]}, "list element types are not identical"),
        ({"$deleteFromPrimitiveList/objects": [{"a": 1}]}, "without a merge key"),
        ({"$setElementOrder/list": None}, "expected a list, but received null"),
    ],
)
def test_lists_that_cannot_be_merged_are_errors(patch: Any, complaint: str) -> None:
    with pytest.raises(PatchError, match=complaint):
        strategic_merge_patch({"list": ["a"], "objects": [{"a": 1}]}, patch, {})


def calls_of(function: Callable[[], object]) -> int:
    """Number of function calls, which does not depend on how busy the machine is."""
    count = 0

    def called(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(called)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("current", "directive", "order"), [(400, {"$patch": "delete"}, {}), (1, {}, {"$setElementOrder/ports": []})]
)
def test_a_patch_costs_in_proportion_to_its_length(current: int, directive: Any, order: Any) -> None:
    def cost(times: int) -> int:
        original = {"spec": {"ports": [{"port": port} for port in range(current * times)]}}
        ports = [{"port": port, **directive} for port in range(400 * times)]
        return calls_of(lambda: strategic_merge_patch(original, {"spec": {"ports": ports, **order}}, SERVICE))

    assert cost(4) < 6 * cost(1)
