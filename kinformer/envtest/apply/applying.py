"""Server-side apply.

An applied configuration sets the fields that it contains. A field that its manager applied before, and that is no
longer in it, is removed, unless another manager owns it too. If the configuration changes a field that another manager
owns, the request is refused with a conflict. With `force`, the manager takes over the field instead.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kinformer.envtest import status
from kinformer.envtest.apply.comparing import mentioned, named
from kinformer.envtest.apply.managed import Entry, Managed, Manager, note_change, note_new
from kinformer.envtest.apply.scopes import Scope
from kinformer.envtest.apply.shapes import LEAF, Shape
from kinformer.envtest.apply.trees import (
    Fields,
    Path,
    Tree,
    difference,
    intersection,
    is_member,
    iterate,
    path_text,
    union,
)

__all__ = ("NotMergeable", "apply_configuration", "check_mergeable")

_FIRST = "before-first-apply"
_KUBECTL = "kubectl"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def apply_configuration(
    live: dict[str, Any] | None,
    managed: Managed | None,
    wanted: dict[str, Any],
    scope: Scope,
    manager: str,
    now: str,
    force: bool,
) -> tuple[dict[str, Any], Managed | None]:
    """
    Apply a manager's configuration to an object.

    :param live: the object. None if it does not exist yet
    :param managed: the managed fields of `live`
    :param wanted: the configuration, with kind and apiVersion
    :param now: the time for the managed fields
    :param force: take over fields that other managers own
    :return: the object, which may share parts with `live`, and its managed fields
    :raises StatusError: Conflict if another manager owns a field with another value, and `force` is not set
    """
    before = live if live is not None else {"kind": wanted["kind"], "apiVersion": wanted["apiVersion"], "metadata": {}}
    if managed is None and live is not None:
        # The object has no managed fields yet, so one manager owns all its fields.
        managed = note_new(live, scope, _FIRST, now)
    shape = scope.shape
    me = Manager(manager, "Apply", scope.api_version, scope.subresource)
    entries = managed.entries if managed is not None else ()
    last = next((entry for entry in entries if entry.manager.is_same(me)), None)
    others = [entry for entry in entries if entry is not last]
    mine = scope.limited(mentioned(wanted, shape))
    merged = _merge(before, wanted, shape)
    if last is not None:
        owned = mine
        for entry in others:
            owned = union(owned, entry.fields.tree)
        merged = _pruned(merged, last.fields.tree, owned, shape)
    changed, removed = scope.of_change(before, merged)
    if not force:
        _check_conflicts(others, changed, before, scope, manager)
    left = list(others)
    if others and (changed or removed):
        # The other managers lose these fields to the one that applies, which gets its own entry below.
        nobody = Manager("", "", "", "")
        taken = note_change(Managed(others), changed, removed, nobody, now)
        left = [entry for entry in taken.entries if entry.manager != nobody] if taken is not None else []
    mine = scope.owned(mine)
    is_same = before["metadata"].get("uid") and before == merged
    if mine:
        time = (last.time if last is not None else "") if is_same else now
        left.append(Entry(me, time, Fields.of_tree(mine)))
    if manager == _KUBECTL:
        _follow_annotation(merged, wanted)
    return merged, Managed(left) if left else None


def _pruned(merged: Any, last: Tree, owned: Tree, shape: Shape) -> Any:
    """The object without the fields that were applied last time and have no owner now."""
    last, owned = named(last, shape), named(owned, shape)
    everything = named(mentioned(merged, shape), shape)
    without_last = _remove(merged, last, shape)
    left = named(mentioned(without_last, shape), shape)
    unowned = _remove(merged, difference(everything, union(left, owned)), shape)
    left = named(mentioned(unowned, shape), shape)
    return _remove(merged, intersection(difference(everything, left), last), shape)


def _check_conflicts(others: list[Entry], changed: Tree, live: Mapping[str, Any], scope: Scope, manager: str) -> None:
    """
    :raises StatusError: Conflict if the change is of fields of other managers
    """
    conflicts = [
        (entry.manager, path)
        for entry in sorted(others, key=lambda entry: entry.manager.order)
        for path in iterate(intersection(entry.fields.tree, changed))
    ]
    if conflicts and manager == _KUBECTL:
        allowed = _last_applied(live, scope)
        conflicts = [one for one in conflicts if not _has(allowed, one[1])]
    if conflicts:
        raise _refusal(conflicts)


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
    for element in path:
        if element not in tree:
            return False
        tree = tree[element]
    return is_member(tree)


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


# -- merging -----------------------------------------------------------------------------------------------------------


class NotMergeable(Exception):
    """A configuration does not match its type, or two entries of a list have the same key. The text says where."""


def check_mergeable(value: Any, shape: Shape) -> None:
    """
    :raises NotMergeable: if a field is unknown, two entries of a list have the same key, or an entry has no key. It
        names all mistakes
    """
    if mistakes := list(_mistakes(value, shape, "")):
        raise NotMergeable(mistakes[0] if len(mistakes) == 1 else "\n  ".join(["errors:", *mistakes]))


def _mistakes(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """Atomic values are checked as well: they are merged as a whole, but their type has no other fields."""
    if shape is LEAF:
        return
    if type(value) is dict:
        for name, item in value.items():
            if shape.is_closed and not shape.is_named(name):
                yield f"{path}.{name}: field not declared in schema"
            else:
                yield from _mistakes(item, shape.field(name), f"{path}.{name}")
    elif type(value) is list and shape.is_list:
        seen = set()
        for index, entry in enumerate(value):
            try:
                element = shape.element(entry)
            except ValueError as error:
                yield f"{path}: element {index}: {error}"
                return
            here = path_text((element,))
            if element in seen:
                yield f"{path}: duplicate entries for key {here}"
            seen.add(element)
            yield from _mistakes(entry, shape.entry, path + here)
    elif type(value) is list and shape.entry is not shape:
        for index, entry in enumerate(value):
            yield from _mistakes(entry, shape.entry, f"{path}[{index}]")


def _merge(live: Any, wanted: Any, shape: Shape) -> Any:
    """
    Merge a configuration into a value. The entries of a list are in the order of the configuration. Entries that are
    not in the configuration keep their places.
    """
    if not shape.is_leaf and wanted is not None:
        if type(wanted) is dict and not shape.is_list:
            merged = dict(live) if type(live) is dict else {}
            for name, item in wanted.items():
                of_field = shape.field(name)
                merged[name] = _merge(merged[name], item, of_field) if name in merged else copy.deepcopy(item)
            return merged
        if type(wanted) is list and shape.is_list:
            return _merge_lists(live if type(live) is list else [], wanted, shape)
    # A null in place of an object or a list has nothing to merge, unless that is empty. Other lists are atomic.
    keeps = bool(live) and (type(live) is dict or (type(live) is list and shape.is_list))
    return live if wanted is None and keeps and not shape.is_leaf else copy.deepcopy(wanted)


def _elements(entries: list[Any], shape: Shape) -> list[str]:
    elements = []
    for index, entry in enumerate(entries):
        try:
            elements.append(shape.element(entry))
        except ValueError:
            elements.append(f"?:{index}")
    return elements


def _merge_lists(live: list[Any], wanted: list[Any], shape: Shape) -> list[Any]:
    left, right = _elements(live, shape), _elements(wanted, shape)
    of_live = dict(zip(reversed(left), reversed(live), strict=True))
    shared = [name for name in right if name in of_live]
    merged: list[Any] = []
    done: set[str] = set()
    here = there = 0

    def take(name: str) -> None:
        nonlocal there
        done.add(name)
        entry = wanted[there]
        is_new = name not in of_live or not shape.keys
        merged.append(copy.deepcopy(entry) if is_new else _merge(of_live[name], entry, shape.entry))
        there += 1
        if shared and shared[0] == name:
            shared.pop(0)

    while here < len(left) or there < len(right):
        if here < len(left):
            name = left[here]
            if there < len(right) and name == right[there]:
                take(name)
                here += 1
                continue
            if name in done:
                here += 1
                continue
            if name not in right:
                merged.append(live[here])
                here += 1
                continue
            if there < len(right) and shared and shared[0] != name:
                # The entry comes later in the configuration.
                here += 1
                continue
        if there < len(right):
            take(right[there])
        else:
            here += 1
    return merged


def _remove(value: Any, tree: Tree, shape: Shape) -> Any:
    """Remove the fields of a set from a value. Objects and lists that become empty remain."""
    if not tree or shape.is_leaf:
        return value
    if type(value) is dict:
        kept = {}
        for name, item in value.items():
            node = tree.get(f"f:{name}")
            if node is None:
                kept[name] = item
            elif not is_member(node):
                kept[name] = _remove(item, node, shape.field(name))
        return kept
    if type(value) is list and shape.is_list:
        left = []
        for entry, element in zip(value, _elements(value, shape), strict=True):
            node = tree.get(element)
            if node is None:
                left.append(entry)
            elif not is_member(node):
                left.append(_remove(entry, node, shape.entry))
        return left
    return value
