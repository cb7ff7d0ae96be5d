"""The normal form: what two correct runs of one scenario have in common."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.simulation.oracles.normal import Normal, PatternError, check_patterns, differences, normal_form
from tests.simulation.oracles.telling import generated, pod


def texts(found: Normal, want: Normal) -> list[str]:
    return [str(difference) for difference in differences(found, want)]


def compare(found: dict[str, Any], want: dict[str, Any], *may_differ: str) -> list[str]:
    return texts(normal_form(found, may_differ), normal_form(want, may_differ))


def with_metadata(obj: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return obj | {"metadata": obj["metadata"] | metadata}


def test_uids_versions_and_times_may_differ() -> None:
    one = with_metadata(pod("web"), uid="a", resourceVersion="7", creationTimestamp="2026-01-01T00:00:00Z")
    other = with_metadata(pod("web"), uid="b", resourceVersion="9", creationTimestamp="2026-03-01T12:00:01Z")

    assert compare({"pods/default/web": one}, {"pods/default/web": other}) == []


def test_the_version_of_a_bound_volumes_claim_may_differ() -> None:
    one, other = (
        {"metadata": {"name": "v"}, "spec": {"claimRef": {"name": "c", "resourceVersion": version}}}
        for version in ("7", "9")
    )

    assert compare({"persistentvolumes/v": one}, {"persistentvolumes/v": other}) == []


def test_a_time_that_is_there_differs_from_one_that_is_not() -> None:
    one = with_metadata(pod("web"), deletionTimestamp="2026-01-01T00:00:00Z")

    assert compare({"pods/default/web": one}, {"pods/default/web": pod("web")}) == [
        'pods/default/web: metadata.deletionTimestamp is "<time>"; without faults it is not there'
    ]


def test_times_within_a_text_may_differ() -> None:
    one, other = (
        with_metadata(pod("web"), annotations={"example.com/note": f"made at 2026-01-0{day}T10:00:00.123Z by hand"})
        for day in (1, 2)
    )

    assert compare({"pods/default/web": one}, {"pods/default/web": other}) == []


def test_a_different_field_is_named_with_both_values() -> None:
    found, want = pod("web", replicas=2), pod("web", replicas=3)

    assert compare({"x/default/web": found}, {"x/default/web": want}) == [
        "x/default/web: spec.replicas is 2; without faults it is 3"
    ]


def test_an_object_that_is_missing_is_named() -> None:
    assert compare({}, {"x/default/web": pod("web")}) == ["x/default/web: is missing"]


def test_an_object_too_many_is_named() -> None:
    assert compare({"x/default/web": pod("web")}, {}) == ["x/default/web: is there, and is not without faults"]


def test_generated_names_are_the_same_whatever_their_ends() -> None:
    found = {"pods/default/web-bcdfg": generated("web-", "bcdfg"), "pods/default/web-zzzzz": generated("web-", "zzzzz")}
    want = {"pods/default/web-24567": generated("web-", "24567"), "pods/default/web-xxxxx": generated("web-", "xxxxx")}

    assert compare(found, want) == []


def test_generated_objects_are_counted() -> None:
    found = {f"pods/default/web-{end}": generated("web-", end) for end in ("bcdfg", "zzzzz", "xxxxx")}
    want = {f"pods/default/web-{end}": generated("web-", end) for end in ("bcdfg", "zzzzz")}

    assert compare(found, want) == ["pods/default/web-*: there are 3 of them, and 2 without faults"]


def test_of_generated_objects_those_without_an_equal_are_compared() -> None:
    found = {
        "pods/default/w-bbbbb": generated("w-", "bbbbb", a=1),
        "pods/default/w-ccccc": generated("w-", "ccccc", a=2),
    }
    want = {
        "pods/default/w-ddddd": generated("w-", "ddddd", a=2),
        "pods/default/w-fffff": generated("w-", "fffff", a=3),
    }

    assert compare(found, want) == ["pods/default/w-*: spec.a is 1; without faults it is 3"]


def test_a_name_that_only_begins_like_a_generated_one_is_its_own() -> None:
    obj = generated("web-", "0")

    assert list(normal_form({"pods/default/web-0": obj})) == ["pods/default/web-0"]


def test_an_object_without_its_prefix_is_known_by_its_creation_group() -> None:
    found, want = ({f"pods/default/web-{end}": pod(f"web-{end}", a=1)} for end in ("bbbbb", "ccccc"))

    groups = dict.fromkeys((*found, *want), "pods/default/web-*")
    assert normal_form(found, groups=groups) == normal_form(want, groups=groups)
    assert normal_form(found) != normal_form(want)


def test_references_to_generated_objects_are_the_same_in_names_and_texts() -> None:
    def state(end: str) -> dict[str, Any]:
        slice_ = pod("slice", target={"name": f"web-{end}"}, message=f"created pod web-{end}.")
        return {f"pods/default/web-{end}": generated("web-", end), "slices/default/slice": slice_}

    assert compare(state("bbbbb"), state("ccccc")) == []


def test_owners_are_compared_by_name_and_not_by_uid() -> None:
    def state(uid: str, owner: str) -> dict[str, Any]:
        return {
            "sets/default/a": with_metadata(pod("a"), uid=uid),
            "pods/default/web": with_metadata(pod("web"), ownerReferences=[{"name": "a", "uid": owner}]),
        }

    assert compare(state("1111-1", "1111-1"), state("2222-2", "2222-2")) == []
    assert compare(state("1111-1", "an older"), state("2222-2", "2222-2")) == [
        'pods/default/web: metadata.ownerReferences.0.uid is "an older"; without faults it is "uid of sets/default/a"'
    ]


@pytest.mark.parametrize(("one", "other"), [("10.0.0.1", "10.0.1.7"), ("fd00::1", "fd00::2"), ("::1", "::2")])
def test_addresses_may_differ(one: str, other: str) -> None:
    assert compare({"x/default/a": pod("a", ip=one)}, {"x/default/a": pod("a", ip=other)}) == []


@pytest.mark.parametrize(("one", "other"), [("1.2.3", "1.2.4"), ("12:30", "12:31"), ("a:b:c", "a:b:d")])
def test_what_only_looks_like_an_address_may_not(one: str, other: str) -> None:
    assert len(compare({"x/default/a": pod("a", text=one)}, {"x/default/a": pod("a", text=other)})) == 1


def test_conditions_are_the_same_in_any_order() -> None:
    one = pod("a") | {"status": {"conditions": [{"type": "A"}, {"type": "B"}]}}
    other = pod("a") | {"status": {"conditions": [{"type": "B"}, {"type": "A"}]}}

    assert compare({"x/default/a": one}, {"x/default/a": other}) == []


def test_containers_are_not() -> None:
    one, other = (
        pod("a", containers=[{"name": "a"}, {"name": "b"}]),
        pod("a", containers=[{"name": "b"}, {"name": "a"}]),
    )

    assert len(compare({"x/default/a": one}, {"x/default/a": other})) == 2


def test_an_observed_generation_is_current_or_old() -> None:
    def state(generation: int, observed: int) -> dict[str, Any]:
        return {"x/d/a": with_metadata(pod("a"), generation=generation) | {"status": {"observedGeneration": observed}}}

    assert compare(state(2, 2), state(5, 5)) == []
    assert compare(state(2, 1), state(5, 5)) == [
        'x/d/a: status.observedGeneration is "old"; without faults it is "current"'
    ]


def test_an_empty_field_is_as_good_as_none() -> None:
    assert compare({"x/d/a": pod("a", labels={}, x=None)}, {"x/d/a": pod("a")}) == []


def test_events_and_leases_are_no_part_of_the_state() -> None:
    state = {"events/default/a": pod("a"), "leases.coordination.k8s.io/kube-system/b": pod("b")}

    assert normal_form(state) == {}


def test_a_user_names_fields_that_may_differ() -> None:
    found, want = {"x/default/a": pod("a", failed=1, other=1)}, {"x/default/a": pod("a", failed=2, other=2)}

    assert compare(found, want, "x/*:spec.failed") == ["x/default/a: spec.other is 1; without faults it is 2"]


def test_a_pattern_reaches_into_lists_and_annotations() -> None:
    def state(value: str) -> dict[str, Any]:
        obj = with_metadata(pod("a", containers=[{"image": value}]), annotations={"example.com/at": value})
        return {"x/default/a": obj}

    patterns = ("x/default/a:spec.containers.*.image", "*:metadata.annotations[example.com/at]")
    assert compare(state("1"), state("2"), *patterns) == []
    assert len(compare(state("1"), state("2"))) == 2


def test_a_pattern_without_a_path_leaves_objects_out() -> None:
    assert compare({"x/default/a": pod("a")}, {"y/default/b": pod("b")}, "x/*") == ["y/default/b: is missing"]


@pytest.mark.parametrize("pattern", ["", "pods", ":status", "pods/*:", "pods/*:a..b", "pods/*:a[b"])
def test_a_pattern_that_cannot_be_read_is_named(pattern: str) -> None:
    with pytest.raises(PatternError, match="does not name fields: write objects:path"):
        check_patterns([pattern])


def test_names_made_from_another_objects_uid_are_compared_alike() -> None:
    one, other = (
        {
            f"persistentvolumes/pvc-{uid}": {"metadata": {"name": f"pvc-{uid}"}},
            "persistentvolumeclaims/default/c": {"metadata": {"name": "c"}, "spec": {"volumeName": f"pvc-{uid}"}},
        }
        for uid in ("259f4329-e6f4-490b-9a16-4106cf6a659e", "b4862b21-fb97-4435-8856-1712e8e5216a")
    )

    assert compare(one, other) == []
    assert compare(one, {}) == [
        "persistentvolumeclaims/default/c: is there, and is not without faults",
        "persistentvolumes/pvc-<uid>: is there, and is not without faults",
    ]
