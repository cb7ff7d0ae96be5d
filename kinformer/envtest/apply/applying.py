"""Server-side apply.

An applied configuration sets the fields that it contains. A field that its manager applied before, and that is no
longer in it, is removed, unless another manager owns it too. If the configuration changes a field that another manager
owns, the request is refused with a conflict. With `force`, the manager takes over the field instead.
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
    The result of an apply.

    :param obj: the object. It may share parts with the object before the apply
    :param managed: its managed fields
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
    Apply a manager's configuration to an object.

    :param live: the object. None if it does not exist yet
    :param managed: the managed fields of `live`
    :param wanted: the configuration, with kind and apiVersion
    :param now: the time for the managed fields
    :param force: take over fields that other managers own
    :raises StatusError: Conflict if another manager owns a field with another value, and `force` is not set
    """
    before = live if live is not None else {"kind": wanted["kind"], "apiVersion": wanted["apiVersion"], "metadata": {}}
    if managed is None and live is not None:
        # The object has no managed fields yet, so one manager owns all its fields.
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
        # The other managers lose these fields to the one that applies, which gets its own entry below.
        nobody = Manager("", "", "", "")
        taken = note_change(Managed(others), changed, removed, nobody, now)
        left = [entry for entry in taken.entries if entry.manager != nobody] if taken is not None else []
    mine = scope.owned(mine)
    is_same = live.get("metadata", {}).get("uid") and live == merged
    if mine:
        time = (last.time if last is not None else "") if is_same else now
        left.append(Entry(me, time, Fields.of_tree(mine)))
    return Applied(merged, Managed(left) if left else None)


def _pruned(merged: Any, last: Tree, owned: Tree, shape: Shape) -> Any:
    """The object without the fields that were applied last time and have no owner now."""
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
    """The fields of kubectl's last client-side apply that are unchanged since. kubectl may change them."""
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
    """If the object has kubectl's last-applied annotation, update it."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    if not annotations.get(_LAST_APPLIED):
        return
    noted = copy.deepcopy(wanted)
    (noted["metadata"].get("annotations") or {}).pop(_LAST_APPLIED, None)
    text = msgspec.json.encode(noted, order="sorted").decode() + "\n"
    obj["metadata"] = {**metadata, "annotations": {**annotations, _LAST_APPLIED: text}}
