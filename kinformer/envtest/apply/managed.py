"""Managed fields: what each manager of an object has set, and what happens when two want different things.

Ownership is kept from the first apply of an object on: what was there before belongs to ``before-first-apply``, as in
clusters that were upgraded to have apply. An object that nobody applies carries no managed fields, which the real
server's always do; keeping them costs as much as all the rest of a write.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.apply.fields import Path, decode_fields, encode_fields, fields_of, path_text, value_at
from kinformer.envtest.apply.removal import remove_path
from kinformer.envtest.apply.shapes import Shape
from kinformer.envtest.strategy.base import Obj

__all__ = ("apply_configuration", "track_update")

_FIRST = "before-first-apply"
#: What identifies an object, or is written by the server alone, has no owner.
_OWNERLESS = frozenset(
    ("f:metadata", f"f:{name}")
    for name in (
        *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"),
        *("managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName"),
    )
) | {("f:kind",), ("f:apiVersion",)}


@dataclass(slots=True)
class _Manager:
    """One entry of ``managedFields``."""

    name: str
    operation: str
    api_version: str
    time: str
    subresource: str = ""
    fields: set[Path] = field(default_factory=set)

    @property
    def text(self) -> str:
        """Who that is, in the text of a conflict."""
        said = f'"{self.name}"' + (f' with subresource "{self.subresource}"' if self.subresource else "")
        return said if self.operation == "Apply" else f"{said} using {self.api_version} at {self.time}"

    def to_dict(self) -> Obj:
        entry: Obj = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": encode_fields(self.fields),
        }
        if self.subresource:
            entry["subresource"] = self.subresource
        return entry


def _read(obj: Obj) -> list[_Manager]:
    return [
        _Manager(
            str(entry.get("manager", "")),
            str(entry.get("operation", "")),
            str(entry.get("apiVersion", "")),
            str(entry.get("time", "")),
            str(entry.get("subresource", "")),
            set(decode_fields(entry.get("fieldsV1"))),
        )
        for entry in obj["metadata"].get("managedFields") or ()
    ]


def _write(obj: Obj, managers: Iterable[_Manager]) -> None:
    entries = [manager.to_dict() for manager in managers if manager.fields]
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def _owned(obj: Obj, shape: Shape) -> dict[Path, Any]:
    return {
        path: value for path, value in fields_of(obj, shape) if path[:2] not in _OWNERLESS and path not in _OWNERLESS
    }


def apply_configuration(
    live: Obj | None, wanted: Obj, shape: Shape, manager: str, api_version: str, now: str, force: bool
) -> Obj:
    """
    What an object is after a manager has applied its configuration.

    :param live: the object, None if it is new
    :param wanted: the configuration
    :raises StatusError: Conflict, if another manager has set a field to something else, and `force` is not set
    """
    mine = _owned(wanted, shape)
    if live is None:
        merged = copy.deepcopy(wanted)
        _write(merged, [_Manager(manager, "Apply", api_version, now, fields=set(mine))])
        return merged
    managers = _read(live)
    present = _owned(live, shape)
    if not managers:
        managers.append(_Manager(_FIRST, "Update", api_version, now, fields=set(present)))
    own = next((one for one in managers if one.name == manager and one.operation == "Apply"), None)
    if own is None:
        own = _Manager(manager, "Apply", api_version, now)
        managers.append(own)
    others = [one for one in managers if one is not own]
    _settle_conflicts(mine, present, others, force)
    merged = copy.deepcopy(_merge(live, wanted, shape))
    kept = set().union(*(one.fields for one in others)) if others else set()
    # What is above goes first: an entry that has lost its key could not be found any more.
    for path in sorted(own.fields - mine.keys() - kept, key=len):
        if not any(other[: len(path)] == path for other in kept):
            remove_path(merged, path)
    if own.fields != mine.keys():
        own.fields, own.time, own.api_version = set(mine), now, api_version
    _write(merged, managers)
    return merged


def _settle_conflicts(mine: dict[Path, Any], present: dict[Path, Any], others: list[_Manager], force: bool) -> None:
    conflicts = [
        (other, path)
        for other in others
        for path in sorted(other.fields & mine.keys())
        if value_at(present, path) != mine[path]
    ]
    if not conflicts:
        return
    if force:
        for other, path in conflicts:
            other.fields.discard(path)
        return
    causes = [
        status.Cause(path_text(path), "FieldManagerConflict", f"conflict with {other.text}")
        for other, path in conflicts
    ]
    raise status.apply_conflict(_conflict_text([(other.text, path_text(path)) for other, path in conflicts]), causes)


def _conflict_text(conflicts: list[tuple[str, str]]) -> str:
    if len(conflicts) == 1:
        return f"Apply failed with 1 conflict: conflict with {conflicts[0][0]}: {conflicts[0][1]}"
    lines = []
    for manager in sorted({manager for manager, _ in conflicts}):
        lines.append(f"conflicts with {manager}:")
        lines += [f"- {path}" for other, path in conflicts if other == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _merge(live: Any, wanted: Any, shape: Shape) -> Any:
    if isinstance(wanted, dict) and isinstance(live, dict) and not shape.atomic:
        merged = dict(live)
        for name, value in wanted.items():
            merged[name] = _merge(live.get(name), value, shape.field(name))
        return merged
    if isinstance(wanted, list) and isinstance(live, list) and shape.is_keyed(wanted):
        merged_list = list(live)
        places = {str(shape.key_of(entry)): index for index, entry in enumerate(live) if isinstance(entry, dict)}
        for entry in wanted:
            place = places.get(str(shape.key_of(entry)))
            if place is None:
                merged_list.append(copy.deepcopy(entry))
            else:
                merged_list[place] = _merge(live[place], entry, shape.entry)
        return merged_list
    if isinstance(wanted, list) and isinstance(live, list) and shape.is_set:
        return [*live, *(entry for entry in wanted if entry not in live)]
    return copy.deepcopy(wanted)


def track_update(old: Obj, obj: Obj, shape: Shape, manager: str, api_version: str, now: str, subresource: str) -> None:
    """
    Note in `obj` who has made of `old` what it is now, if ownership is kept for this object.

    An update that sends an empty list of managed fields gives ownership up.
    """
    given = obj["metadata"].get("managedFields")
    if not old["metadata"].get("managedFields"):
        obj["metadata"].pop("managedFields", None)
        return
    if given is not None and not any(given):
        obj["metadata"].pop("managedFields")
        return
    managers = _read(old)
    before, after = _owned(old, shape), _owned(obj, shape)
    changed = {path for path, value in after.items() if value_at(before, path) != value}
    for one in managers:
        one.fields = {path for path in one.fields if path in after and path not in changed}
    if changed:
        own = next(
            (one for one in managers if (one.name, one.operation, one.subresource) == (manager, "Update", subresource)),
            None,
        )
        if own is None:
            own = _Manager(manager, "Update", api_version, now, subresource)
            managers.append(own)
        own.fields |= changed
        own.time = now
    _write(obj, managers)
