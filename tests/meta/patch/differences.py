"""Strategic merge patches that turn one object into another, as kubectl makes them: for what the server does with them.

The patch has only the differences, entry by entry in merged lists. So changes that others make meanwhile are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kinformer.meta.names import GroupVersionKind
from kinformer.meta.patch._json import same, scalar_key
from kinformer.meta.patch.errors import PatchError, refusing_depth
from kinformer.meta.patch.schema import TYPES, Field, Schema, schema_for
from kinformer.meta.patch.strategic import DELETE_LIST, DIRECTIVE, ORDER, RETAIN_KEYS

__all__ = ("create_two_way_merge_patch",)

_ANY = Field()
_UNKNOWN: Schema = {}

Object = dict[str, Any]


def create_two_way_merge_patch(
    original: Mapping[str, Any], modified: Mapping[str, Any], kind: GroupVersionKind | Schema
) -> Object:
    """
    Make the patch that turns `original` into `modified` (CreateTwoWayMergePatch); empty if they are equal.

    :param kind: the kind of the objects, or the schema of their type
    :raises PatchError: if the kind does not support such patches, or an entry of a merged list lacks its key
    """
    schema = schema_for(kind) if isinstance(kind, GroupVersionKind) else kind
    with refusing_depth():
        return _diff(original, modified, schema)


def _diff(original: Mapping[str, Any], modified: Mapping[str, Any], schema: Schema, retains: bool = False) -> Object:
    patch: Object = {}
    for key, value in modified.items():
        if key not in original or type(original[key]) is not type(value):
            patch[key] = value
        else:
            _diff_field(patch, key, original[key], value, schema.get(key, _ANY))
    gone = [key for key in original if key not in modified]
    patch.update(dict.fromkeys(gone))
    if retains and (patch or any(original[key] is not None for key in gone)):
        retained = sorted(key for key, value in modified.items() if value is not None)
        if retained:
            patch[RETAIN_KEYS] = retained
    return patch


def _diff_field(patch: Object, key: str, original: Any, modified: Any, field: Field) -> None:
    """Add the difference of one field to the patch. Both values are of the same type."""
    if isinstance(modified, dict) and not field.replace:
        if difference := _diff(original, modified, TYPES.get(field.type, _UNKNOWN), field.retain_keys):
            patch[key] = difference
    elif isinstance(modified, list) and field.merge and original:
        diff_lists = _diff_objects if field.key else _diff_scalars
        change, deletions, order = diff_lists(original, modified, field)
        for name, items in ((key, change), (f"{DELETE_LIST}/{key}", deletions), (f"{ORDER}/{key}", order)):
            if items:
                patch[name] = items
    elif not same(original, modified):
        patch[key] = modified


_ListDiff = tuple[list[Any], list[Any], list[Any]]


def _diff_scalars(original: list[Any], modified: list[Any], field: Field) -> _ListDiff:
    before, after = set(map(scalar_key, original)), set(map(scalar_key, modified))
    added = [item for item in modified if scalar_key(item) not in before]
    deleted = list({scalar_key(item): item for item in original if scalar_key(item) not in after}.values())
    return added, deleted, [] if same(original, modified) else modified


def _diff_objects(original: list[Any], modified: list[Any], field: Field) -> _ListDiff:
    key, schema = field.key, TYPES.get(field.type, _UNKNOWN)
    name = _key_reader(key)
    # Entries with the same key are paired in their order: ports with the same number may differ in their protocol.
    waiting: dict[Any, list[Object]] = {}
    for item in original:
        waiting.setdefault(scalar_key(name(item)), []).append(item)
    change: list[Any] = []
    for item in modified:
        same_name = waiting.get(scalar_key(name(item)))
        if not same_name:
            change.append(item)
        elif difference := _diff(same_name.pop(0), item, schema, field.retain_keys):
            change.append({**difference, key: item[key]})
    deleted = [item[key] for items in waiting.values() for item in items]
    change += [{key: value, DIRECTIVE: "delete"} for value in sorted(deleted, key=str)]
    moved = not same([item[key] for item in original], [item[key] for item in modified])
    return change, [], [{key: item[key]} for item in modified] if change or moved else []


def _key_reader(key: str) -> Callable[[Any], Any]:
    def name(item: Any) -> Any:
        if not isinstance(item, dict) or key not in item:
            raise PatchError(f"map: {item} does not contain declared merge key: {key}")
        return item[key]

    return name
