"""Server-side apply: what an applied configuration makes of an object, and when it may not.

A configuration sets what it mentions, takes away what its manager has applied before and nobody else has set, and is
refused where it wants to change what somebody else has set, unless it is forced: then it takes that over.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kinformer.envtest import status
from kinformer.envtest.apply.comparing import mentioned, named
from kinformer.envtest.apply.managed import Entry, Managed, Manager, note_change, note_new
from kinformer.envtest.apply.merging import merge, remove
from kinformer.envtest.apply.scopes import Scope
from kinformer.envtest.apply.shapes import Shape
from kinformer.envtest.apply.trees import (
    Fields,
    Path,
    Tree,
    difference,
    intersection,
    iterate,
    path_text,
    union,
)

__all__ = ("Applied", "apply_configuration")

_FIRST = "before-first-apply"
_KUBECTL = "kubectl"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Applied:
    """
    What came of it.

    :param obj: the object; may share parts with what was there
    :param managed: who owns what of it
    """

    obj: dict[str, Any]
    managed: Managed | None


def apply_configuration(
    live: dict[str, Any] | None,
    managed: Managed | None,
    wanted: dict[str, Any],
    scope: Scope,
    manager: str,
    now: str,
    force: bool,
) -> Applied:
    """
    What an object is after a manager has applied its configuration.

    :param live: the object, None if it is new
    :param managed: who owns what of it
    :param wanted: the configuration, with kind and apiVersion
    :raises StatusError: Conflict, if another manager has set a field to something else, and `force` is not set
    """
    before = live if live is not None else {"kind": wanted["kind"], "apiVersion": wanted["apiVersion"], "metadata": {}}
    if managed is None and live is not None:
        # What was there before anybody kept account of it.
        managed = note_new(live, scope, _FIRST, now)
    try:
        applied = _apply(before, managed, wanted, scope, manager, now, force)
    except _Conflicts as found:
        allowed = _last_applied(before, scope) if manager == _KUBECTL else {}
        conflicts = [one for one in found.conflicts if not _has(allowed, one[1])]
        if conflicts:
            raise _refusal(conflicts) from None
        applied = _apply(before, managed, wanted, scope, manager, now, force=True)
    if manager == _KUBECTL:
        _follow_annotation(applied.obj, wanted)
    return applied


class _Conflicts(Exception):
    def __init__(self, conflicts: list[tuple[Manager, Path]]):
        super().__init__("conflicts")
        self.conflicts = conflicts


def _apply(
    live: dict[str, Any],
    managed: Managed | None,
    wanted: dict[str, Any],
    scope: Scope,
    manager: str,
    now: str,
    force: bool,
) -> Applied:
    shape = scope.shape
    me = Manager(manager, "Apply", scope.api_version, scope.subresource)
    entries = managed.entries if managed is not None else ()
    last = next((entry for entry in entries if entry.manager.is_same(me)), None)
    others = [entry for entry in entries if entry is not last]
    mine = scope.limited(mentioned(wanted, shape))
    merged = merge(live, wanted, shape)
    if last is not None:
        owned = mine
        for entry in others:
            owned = union(owned, entry.fields.tree)
        merged = _pruned(merged, last.fields.tree, owned, shape)
    changed, removed = scope.of_change(live, merged)
    if not force:
        _check_conflicts(others, changed)
    left = list(others)
    if others and (changed or removed):
        # Nobody is the one who takes: what is taken from the others goes to who applies.
        nobody = Manager("", "", "", "")
        taken = note_change(Managed(others), changed, removed, nobody, now)
        left = [entry for entry in taken.entries if entry.manager != nobody] if taken is not None else []
    mine = scope.owned(mine)
    is_same = live.get("metadata", {}).get("uid") and _same(live, merged)
    if mine:
        time = (last.time if last is not None else "") if is_same else now
        left.append(Entry(me, time, Fields.of_tree(mine)))
    return Applied(merged, Managed(left) if left else None)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other)


def _pruned(merged: Any, last: Tree, owned: Tree, shape: Shape) -> Any:
    """The object without what was applied last time and nobody has set."""
    last, owned = named(last, shape), named(owned, shape)
    everything = named(mentioned(merged, shape), shape)
    without_last = remove(merged, last, shape)
    left = named(mentioned(without_last, shape), shape)
    unowned = remove(merged, difference(everything, union(left, owned)), shape)
    left = named(mentioned(unowned, shape), shape)
    return remove(merged, intersection(difference(everything, left), last), shape)


def _check_conflicts(others: list[Entry], changed: Tree) -> None:
    conflicts = [
        (entry.manager, path)
        for entry in sorted(others, key=lambda entry: entry.manager.order)
        for path in iterate(intersection(entry.fields.tree, changed))
    ]
    if conflicts:
        raise _Conflicts(conflicts)


def _refusal(conflicts: list[tuple[Manager, Path]]) -> status.StatusError:
    causes = [
        status.Cause(path_text(path), "FieldManagerConflict", f"conflict with {manager.text}")
        for manager, path in conflicts
    ]
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        said = f"1 conflict: conflict with {manager.text}: {path_text(path)}"
    else:
        lines = []
        for manager in dict.fromkeys(manager for manager, _ in conflicts):
            lines.append(f"conflicts with {manager.text}:")
            lines += [f"- {path_text(path)}" for other, path in conflicts if other == manager]
        said = f"{len(conflicts)} conflicts: " + "\n".join(lines)
    return status.apply_conflict(f"Apply failed with {said}", causes)


# -- from kubectl's own apply to the server's -------------------------------------------------------------------------


def _has(tree: Tree, path: Path) -> bool:
    node = tree
    for element in path:
        if element not in node:
            return False
        node = node[element]
    return not node or "." in node


def _last_applied(live: Mapping[str, Any], scope: Scope) -> Tree:
    """What kubectl has applied by itself, and has been left so since: that, it may change."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(_LAST_APPLIED)
    try:
        applied = msgspec.json.decode(text or "null")
    except msgspec.DecodeError:
        return {}
    if not isinstance(applied, dict) or applied.get("apiVersion") != scope.api_version:
        return {}
    changed, removed = scope.of_change(applied, live)
    return difference(difference(mentioned(applied, scope.shape), changed), removed)


def _follow_annotation(obj: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Where kubectl has noted what it applied, it goes on to be noted."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    if not annotations.get(_LAST_APPLIED):
        return
    noted = copy.deepcopy(wanted)
    (noted["metadata"].get("annotations") or {}).pop(_LAST_APPLIED, None)
    text = msgspec.json.encode(noted, order="sorted").decode() + "\n"
    obj["metadata"] = {**metadata, "annotations": {**annotations, _LAST_APPLIED: text}}
