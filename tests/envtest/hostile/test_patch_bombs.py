"""JSON patches that are small to send, and make what is large."""

from __future__ import annotations

import json

import pytest

from kinformer.meta.patch import PatchError, apply_json_patch
from kinformer.meta.patch.json_patch import MAX_COPIED
from tests.envtest.hostile.victim import Victim

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JSON_PATCH = "application/json-patch+json"


def test_a_patch_cannot_double_a_list_until_the_memory_is_full(attacked: Victim) -> None:
    assert attacked("POST", CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}}).code == 201
    double = {"op": "copy", "from": "/data/x", "path": "/data/x/-"}
    patch = [{"op": "add", "path": "/data", "value": {"x": ["y" * 1000]}}, *[double] * 26]
    answer = attacked("PATCH", f"{CONFIG_MAPS}/a", patch, JSON_PATCH)
    assert answer.code == 422
    assert attacked.is_well()
    assert attacked("GET", f"{CONFIG_MAPS}/a").body["data"] == {"k": "v"}


def test_the_copies_of_one_patch_are_counted_together() -> None:
    text = "x" * 99_998  # 100,000 bytes of JSON
    copies = [{"op": "copy", "from": "/a", "path": f"/copy{i}"} for i in range(MAX_COPIED // 100_000)]
    patched = apply_json_patch({"a": text}, copies)
    assert len(patched) == len(copies) + 1
    with pytest.raises(PatchError, match="copies of one patch"):
        apply_json_patch({"a": text}, [*copies, {"op": "copy", "from": "/a", "path": "/one-more"}])


def test_moves_are_no_copies() -> None:
    text = json.dumps("x" * 1_000_000)
    there = {"op": "move", "from": "/a", "path": "/b"}
    back = {"op": "move", "from": "/b", "path": "/a"}
    assert apply_json_patch({"a": text}, [there, back] * 10) == {"a": text}
