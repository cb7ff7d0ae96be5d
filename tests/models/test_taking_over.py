"""What an object that is kept has in common with those before it, and what becomes of what somebody changed in one."""

from __future__ import annotations

import copy
from itertools import pairwise

import msgspec
import pytest

from kinformer.models import (
    V1Container,
    V1Pod,
    V1StatefulSet,
    _keeping,
    decoder_for,
    encode,
    from_dict,
    interner_for,
    successor_for,
    to_dict,
)
from kinformer.models._lazy import LazyField, source_of

OWNED = {
    "metadata": {
        "namespace": "team-1",
        "labels": {"app": "web-2"},
        "annotations": {"a": "on-1"},
        "generateName": "web-1-",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u-1"}],
    },
    "spec": {"nodeName": "n"},
    "status": {"phase": "Running"},
}


def read_by_parts(field: LazyField, obj: object) -> bool:
    field.read(obj)
    return False


def watched(text: dict[str, object]) -> V1Pod:
    return decoder_for(V1Pod).decode(encode(text))


def test_interned_objects_share_the_strings_that_recur() -> None:
    one, other = from_dict(V1Pod, OWNED), from_dict(V1Pod, OWNED)
    for pod in (one, other):
        interner_for(V1Pod)(pod)

    assert one.metadata.labels["app"] is other.metadata.labels["app"]
    assert one.metadata.namespace is other.metadata.namespace
    assert one.metadata.generate_name is other.metadata.generate_name
    assert one.metadata.annotations["a"] is other.metadata.annotations["a"]
    for attribute in ("api_version", "kind", "name", "uid"):
        assert getattr(one.metadata.owner_references[0], attribute) is getattr(
            other.metadata.owner_references[0], attribute
        )
    assert to_dict(one) == OWNED


def test_an_object_shares_what_has_not_changed_with_the_one_before_it() -> None:
    old, new = watched(OWNED), watched({**OWNED, "status": {"phase": "Failed"}})
    successor_for(V1Pod)(old, new)

    assert to_dict(new) == {**OWNED, "status": {"phase": "Failed"}}
    assert new.metadata.labels is old.metadata.labels
    assert new.metadata.annotations is old.metadata.annotations
    assert new.metadata.owner_references is old.metadata.owner_references
    spec, status = (V1Pod.__lazy_fields__[name].peek for name in ("spec", "status"))
    assert spec(new) is spec(old)
    assert status(new) is not status(old)


def test_read_parts_are_not_taken_over_when_the_bytes_differ() -> None:
    old, new = watched(OWNED), watched({**OWNED, "spec": {"nodeName": "m"}})
    assert old.spec.node_name == "n"
    successor_for(V1Pod)(old, new)

    assert new.spec.node_name == "m"


def test_a_read_spec_is_not_decoded_again_while_its_bytes_stay() -> None:
    succeed = successor_for(V1Pod)
    phases = ("Pending", "Running", "Succeeded", "Failed")
    pods = [watched({**OWNED, "status": {"phase": phase}}) for phase in phases]
    for old, new in pairwise(pods):
        _ = old.spec, old.status
        succeed(old, new)

    assert pods[3].spec is pods[2].spec
    assert pods[3].status.phase == "Failed"


def test_a_spec_that_is_read_is_decoded_again_when_its_bytes_change() -> None:
    succeed = successor_for(V1Pod)
    pods = [watched({**OWNED, "spec": {"nodeName": node}}) for node in ("n", "n", "m", "m", "m", "m", "n")]
    for old, new in pairwise(pods):
        _ = old.spec, old.status
        succeed(old, new)

    assert [pod.spec.node_name for pod in pods] == ["n", "n", "m", "m", "m", "m", "n"]


def test_a_copy_of_an_object_has_a_spec_of_its_own() -> None:
    succeed = successor_for(V1Pod)
    pods = [watched(OWNED) for _ in range(4)]
    for old, new in pairwise(pods):
        _ = old.spec
        succeed(old, new)
    mine = copy.deepcopy(pods[3])
    mine.spec.node_name = "m"

    assert pods[3].spec is pods[2].spec
    assert pods[3].spec.node_name == "n"
    succeed(mine, after := watched(OWNED))
    assert after.spec.node_name == "n"


@pytest.mark.parametrize("change", ["a field", "a list", "a model in a list"])
def test_a_change_to_a_kept_object_is_found_some_versions_later(change: str) -> None:
    found: list[tuple[V1Pod, str]] = []
    succeed = successor_for(V1Pod, on_changed=lambda obj, field: found.append((obj, field)))
    text = {**OWNED, "spec": {"nodeName": "n", "containers": [{"name": "c"}]}}
    pods = [watched(text) for _ in range(24)]
    for old, new in pairwise(pods[:4]):
        _ = old.spec.containers if change != "a field" else old.spec
        succeed(old, new)
    assert pods[3].spec is pods[2].spec
    match change:
        case "a field":
            pods[3].spec.node_name = "m"
        case "a list":
            pods[3].spec.containers.append(V1Container(name="d"))
        case _:
            pods[3].spec.containers[0].image = "i"
    for old, new in pairwise(pods[3:]):
        succeed(old, new)

    assert [(pods.index(obj), field) for obj, field in found] == [(pods.index(found[0][0]), "spec")]
    assert [to_dict(pod) for pod in pods[20:]] == [text] * 4


@pytest.mark.parametrize("read_from", [0, 20, 40])
def test_reading_what_was_taken_over_is_not_taken_for_a_change(read_from: int) -> None:
    found: list[object] = []
    succeed = successor_for(V1StatefulSet, on_changed=lambda *changed: found.append(changed))
    claim = {"metadata": {"name": "data", "managedFields": [{"manager": "m", "unheardOf": 1}]}}
    text = encode({"metadata": {"name": "db"}, "spec": {"volumeClaimTemplates": [claim]}})
    sets = [decoder_for(V1StatefulSet).decode(text) for _ in range(60)]
    for number, (old, new) in enumerate(pairwise(sets)):
        template = old.spec.volume_claim_templates[0]
        if number >= read_from:
            assert template.metadata.managed_fields[0].manager == "m"
        succeed(old, new)

    assert found == []
    assert sets[59].spec is sets[2].spec


@pytest.mark.parametrize("parts_are_read", [False, True])
def test_an_unchanged_part_is_decoded_when_read_and_when_checked(
    parts_are_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    succeed = successor_for(V1Pod)
    counted = {"decoded": 0, "encoded": 0}
    decoded, fingerprint_of = LazyField.decoded, _keeping.fingerprint_of

    def decoding(field: LazyField, obj: object, raw: msgspec.Raw) -> object:
        counted["decoded"] += 1
        return decoded(field, obj, raw)

    def encoding(value: object) -> int | None:
        counted["encoded"] += 1
        return fingerprint_of(value)

    monkeypatch.setattr(LazyField, "decoded", decoding)
    monkeypatch.setattr(LazyField, "read_all", read_by_parts)  # part by part, however often it was done before
    monkeypatch.setattr(_keeping, "fingerprint_of", encoding)
    pods = [watched({**OWNED, "spec": {"nodeName": "n", "containers": [{"name": "c"}]}}) for _ in range(50)]
    counts = []
    for old, new in pairwise(pods):
        _ = old.spec.containers if parts_are_read else old.spec
        succeed(old, new)
        counts.append((counted["decoded"], counted["encoded"]))

    if parts_are_read:
        # Spec and containers: the first reading says that somebody reads; the second one is of bytes that are noted.
        assert counts[:16] == [(2, 0)] + [(4, 0)] * 15
        # The sixteenth taking-over is checked, for which the bytes are decoded once more; the next ones go without.
        assert counts[16:32] == [(6, 2)] * 16
        assert counts[32:48] == [(6, 3)] * 16
    else:
        # The spec has its bytes, so that the second object can take it over already.
        assert counts[:15] == [(1, 0)] * 15
        assert {decoded for decoded, _ in counts[31:47]} == {counts[15][0]}
        assert [encoded for _, encoded in counts[15:47]] == [2] * 16 + [3] * 16


def test_a_value_has_its_bytes_until_one_of_its_parts_is_read() -> None:
    pod = watched({**OWNED, "spec": {"nodeName": "n", "containers": [{"name": "c"}]}})
    assert source_of(pod.spec) == msgspec.Raw(encode({"nodeName": "n", "containers": [{"name": "c"}]}))

    assert pod.spec.containers[0].name == "c"

    assert source_of(pod.spec) is None


def test_a_copy_of_a_value_does_not_have_its_bytes() -> None:
    pod = watched(OWNED)
    mine = copy.copy(pod.spec)

    assert source_of(pod.spec) is not None
    assert source_of(mine) is None


def test_an_unencodable_part_is_found_and_replaced_some_versions_later() -> None:
    found: list[str] = []
    succeed = successor_for(V1Pod, on_changed=lambda _, field: found.append(field))
    pods = [watched(OWNED) for _ in range(24)]
    for number, (old, new) in enumerate(pairwise(pods)):
        if number < 4:
            _ = old.spec
        if number == 4:
            endless: dict[str, object] = {}
            endless["itself"] = endless
            old.spec.node_selector = endless
        succeed(old, new)

    assert found == ["spec"]
    assert pods[23].spec.node_selector is None
