"""Strategic merge patches of built-in kinds."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kinformer.meta.names import GroupVersionKind
from kinformer.meta.patch import PatchError, strategic_merge_patch
from tests.golden.run import same_json

GROUPS = {"Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "Job": "batch"}
DELETES = "$deleteFromPrimitiveList/"


def answer(case: Any) -> Any:
    kind = GroupVersionKind(GROUPS.get(case["kind"], ""), "v1", case["kind"])
    original, patch = case["original"], case["patch"]
    try:
        result = strategic_merge_patch(original, patch, kind)
    except PatchError:
        return {"ok": False}
    answered = {"ok": True, "result": result}
    if deletions := only_deletions(patch):
        with suppress(PatchError):
            merged = strategic_merge_patch(original, without_deletions(patch), kind)
            answered["or"] = strategic_merge_patch(merged, deletions, kind)
    return answered


def same(got: Any, want: Any) -> bool:
    """Scalars that a patch both deletes and adds are in or out as Go's map order has it: either is right."""
    later = got.pop("or", None)
    return same_json(got, want) or (later is not None and same_json({"ok": True, "result": later}, want))


def only_deletions(patch: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in patch.items() if key.startswith(DELETES)}
    for key, value in patch.items():
        if isinstance(value, dict) and (deeper := only_deletions(value)):
            found[key] = deeper
    return found


def without_deletions(patch: dict[str, Any]) -> dict[str, Any]:
    return {
        key: without_deletions(value) if isinstance(value, dict) else value
        for key, value in patch.items()
        if not key.startswith(DELETES)
    }
