"""Strategic merge patches: merge patches that merge lists of the API by their keys, and that may have directives.

Besides values and nulls a patch may have these directives, as kubectl and controllers send them:

- ``$patch: replace`` or ``delete`` in an object, and in an entry of a merged list;
- ``$retainKeys``: the fields of an object that remain; all others are removed;
- ``$deleteFromPrimitiveList/FIELD``: scalars to remove from a list;
- ``$setElementOrder/FIELD``: the order of a merged list. Entries that it does not name keep their order among
  themselves.

This follows the server's Go code, also in cases where that differs from its documentation. As there, new entries of
merged lists keep their nulls and directives.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from kinformer.meta.names import GroupVersionKind
from kinformer.meta.patch._json import kind_of, same, scalar_key
from kinformer.meta.patch.errors import MalformedPatchError, PatchError, go_text, refusing_depth
from kinformer.meta.patch.merge import without_nulls
from kinformer.meta.patch.schema import TYPES, Field, Schema, schema_for

__all__ = ("DELETE_LIST", "DIRECTIVE", "ORDER", "RETAIN_KEYS", "strategic_merge_patch")

DIRECTIVE: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_LIST: Final = "$deleteFromPrimitiveList"
ORDER: Final = "$setElementOrder"

_ANY: Final = Field()
_UNKNOWN: Final[Schema] = {}

Object = dict[str, Any]


def strategic_merge_patch(original: Mapping[str, Any], patch: Any, kind: GroupVersionKind | Schema) -> Object:
    """
    Apply a strategic merge patch to `original` and return the resulting object.

    :param kind: the kind of `original`, or the schema of its type
    :raises MalformedPatchError: if the patch, or a directive in it, has a wrong format
    :raises PatchError: if the patch does not fit the object, or the kind does not support such patches
    """
    if not isinstance(patch, dict):
        raise MalformedPatchError(f"a strategic merge patch is an object, not {kind_of(patch)}")
    schema = schema_for(kind) if isinstance(kind, GroupVersionKind) else kind
    with refusing_depth():
        return _merge(original, patch, schema)


def _merge(original: Mapping[str, Any], patch: Object, schema: Schema) -> Object:
    if DIRECTIVE in patch:
        return _directed(patch)
    merged = dict(original)
    patch = dict(patch)
    _retain(merged, patch)
    _merge_in_order(merged, patch, schema)
    # Deletions come first. In Go the order is that of a map, which is random.
    for key, value in sorted(patch.items(), key=lambda item: not item[0].startswith(DELETE_LIST)):
        name, deletes = key, False
        if key.startswith(DELETE_LIST):
            name, deletes = _target(key, DELETE_LIST), True
        if value is None:
            merged.pop(name, None)
        elif name not in merged or type(merged[name]) is not type(value):
            if deletes:
                continue
            value = without_nulls(value)
            if _is_directed(value):
                merged.pop(name, None)
            else:
                merged[name] = _without_directives(value)
        else:
            merged[name] = _merge_value(merged[name], value, schema.get(name, _ANY), deletes)
    return merged


def _merge_value(current: Any, value: Any, field: Field, deletes: bool) -> Any:
    """Merge one field. Both values are of the same type."""
    if isinstance(value, dict):
        return value if field.replace else _merge(current, value, TYPES.get(field.type, _UNKNOWN))
    if isinstance(value, list) and (field.merge or deletes):
        return _merge_lists(current, value, field, deletes)
    return value


def _directed(patch: Object) -> Object:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if directive == "delete":
        return {}
    raise PatchError(f"unknown patch type: {directive} in map: {go_text(patch)}")


def _retain(merged: Object, patch: Object) -> None:
    """Apply ``$retainKeys`` and remove it from the patch."""
    if RETAIN_KEYS not in patch:
        return
    retained = patch.pop(RETAIN_KEYS)
    if not isinstance(retained, list):
        raise MalformedPatchError("invalid patch format of retainKeys")
    names = {name for name in retained if isinstance(name, str)}
    for key, value in patch.items():
        if value is not None and key not in names and not key.startswith((DELETE_LIST, ORDER)):
            raise MalformedPatchError("invalid patch format of retainKeys")
    for key in merged.keys() - names:
        del merged[key]


def _merge_in_order(merged: Object, patch: Object, schema: Schema) -> None:
    """Merge the lists whose order the patch sets, and remove them from the patch."""
    for directive in [key for key in patch if key.startswith(ORDER)]:
        order = _list(patch.pop(directive))
        name = _target(directive, ORDER)
        field = schema.get(name, _ANY)
        current = _list(merged[name]) if name in merged else None
        change = _list(patch[name]) if name in patch else None
        _check_order(change or [], order, field.key)
        if current is None and change is None:
            continue
        if change is None:
            result = current or []
        elif current is None:
            result = [_without_directives(item) for item in change if not _is_directed(item)]
        elif field.merge:
            result = _merge_lists(current, change, field)
        else:
            result = change
        if _element_type(current or [], change or []) is dict:
            _require_key(field.key, order, current or [])
        merged[name] = _arranged(result, order, current or [], field.key)
        patch.pop(name, None)


def _check_order(change: list[Any], order: list[Any], key: str) -> None:
    """Check that the entries that a patch changes are all in the order that it sets."""
    if not order or not change:
        return
    if key:
        _require_objects(change)
        change = [item for item in change if item.get(DIRECTIVE) != "delete"]
    place = 0
    for item in change:
        if _is_directed(item) and place < len(order):
            continue
        if key:
            _require_key(key, [item])
        while place < len(order):
            entry = order[place]
            place += 1
            if key:
                _require_objects([entry])
                _require_key(key, [entry])
            if same(item[key], entry[key]) if key else same(item, entry):
                break
        else:
            raise PatchError(f"The order in patch list:\n{change}\n doesn't match {ORDER} list:\n{order}\n")


def _merge_lists(current: list[Any], change: list[Any], field: Field, deletes: bool = False) -> list[Any]:
    if not current and not change:
        return current
    if _element_type(current, change) is dict:
        if not field.key:
            raise PatchError("cannot merge lists of objects without a merge key")
        current, change = _carry_out_directives(current, change, field.key)
        result = _merge_entries(current, change, field)
        _require_key(field.key, current, change)
    elif deletes:
        gone = set(map(scalar_key, change))
        return [item for item in current if scalar_key(item) not in gone]
    else:
        result = list({scalar_key(item): item for item in (*current, *change)}.values())
    return _arranged(result, change, current, field.key)


def _carry_out_directives(current: list[Object], change: list[Object], key: str) -> tuple[list[Object], list[Object]]:
    """Apply the ``$patch`` directives in entries. Return what remains of the list and of the patch to it."""
    replaces = False
    remaining = []
    gone: set[Hashable] = set()
    for item in change:
        match item.get(DIRECTIVE) if DIRECTIVE in item else _ANY:
            case Field():
                remaining.append(item)
            case "delete":
                _require_key(key, [item])
                gone.add(scalar_key(item[key]))
            case "replace":
                replaces = True
            case "merge":
                raise PatchError("merging lists cannot yet be specified in the patch")
            case directive:
                raise PatchError(f"unknown patch type: {directive} in map: {go_text(item)}")
    if gone:
        current = [entry for entry in current if key not in entry or scalar_key(entry[key]) not in gone]
    return (remaining, []) if replaces else (current, remaining)


def _merge_entries(current: list[Object], change: list[Object], field: Field) -> list[Object]:
    schema = TYPES.get(field.type, _UNKNOWN)
    result = list(current)
    places: dict[Hashable, int] = {}
    for place, entry in enumerate(result):
        if field.key in entry:
            places.setdefault(scalar_key(entry[field.key]), place)
    for item in change:
        _require_key(field.key, [item])
        place = places.setdefault(scalar_key(item[field.key]), len(result))
        if place == len(result):
            result.append(item)
        else:
            result[place] = _merge(result[place], item, schema)
    return result


def _arranged(items: list[Any], order: list[Any], server_order: list[Any], key: str) -> list[Any]:
    """
    Bring a merged list into order: entries that the patch names in the patch's order, the rest in the server's order.

    The two are then joined. Before each entry that the patch names come the remaining entries that precede it on the
    server.
    """
    if key:
        _require_objects(items, order)
        _require_key(key, items)
    named_places = _places(order, key)
    server_places = _places(server_order, key)
    named: list[Any] = []
    rest: list[Any] = []
    for item in items:
        (named if _identity(item, key) in named_places else rest).append(item)
    named = _sorted(named, named_places, key)
    rest = _sorted(rest, server_places, key)

    result: list[Any] = []
    taken = 0
    for item in named:
        place = server_places.get(_identity(item, key))
        while place is not None and taken < len(rest):
            other = server_places.get(_identity(rest[taken], key))
            if other is None or other >= place:
                break
            result.append(rest[taken])
            taken += 1
        result.append(item)
    return result + rest[taken:]


def _sorted(items: list[Any], places: Mapping[Hashable, int], key: str) -> list[Any]:
    found = [places.get(_identity(item, key)) for item in items]
    if None not in found:
        return sorted(items, key=lambda item: places[_identity(item, key)])
    # Go's comparison takes an entry without a place for less than any other. So its insertion sort brings each of them
    # to the front, and any other entry behind the last one that is not greater. This list is linked, for long ones.
    first, following = -1, [-1] * len(items)
    sorted_places: list[tuple[int, int]] = []
    for index, place in enumerate(found):
        before = -1
        if place is not None:
            at = bisect(sorted_places, (place, index))
            before = sorted_places[at - 1][1] if at else -1
            sorted_places.insert(at, (place, index))
        if before < 0:
            following[index], first = first, index
        else:
            following[index], following[before] = following[before], index
    result = []
    while first >= 0:
        result.append(items[first])
        first = following[first]
    return result


def _places(items: Sequence[Any], key: str) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        places.setdefault(_identity(item, key), place)
    return places


def _identity(item: Any, key: str) -> Hashable:
    return scalar_key(item.get(key) if key and isinstance(item, dict) else item)


def _is_directed(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def _without_directives(value: Any) -> Any:
    """A new value without the objects in it that have a directive, because there is nothing to apply it to."""
    if isinstance(value, dict):
        return {key: _without_directives(item) for key, item in value.items() if not _is_directed(item)}
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_directed(item)]
    return value


def _target(directive: str, prefix: str) -> str:
    head, slash, name = directive.partition("/")
    if head != prefix or not slash:
        what = "primitive list" if prefix == DELETE_LIST else "setElementOrder list"
        raise MalformedPatchError(f"invalid patch format of {what}")
    return name


def _element_type(*lists: list[Any]) -> type:
    """The one type of all entries of some lists."""
    types = {type(item) for items in lists for item in items}
    if list in types:
        raise PatchError("lists of lists are not supported")
    if len(types) > 1:
        raise PatchError(f"list element types are not identical: {list(lists)}")
    if not types or types == {type(None)}:
        raise PatchError("no elements in any of the given slices")
    return types.pop()


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise PatchError(f"expected a list, but received {kind_of(value)}")
    return value


def _require_objects(*lists: Iterable[Any]) -> None:
    for items in lists:
        for item in items:
            if not isinstance(item, dict):
                raise PatchError(f"expected an object, but received {kind_of(item)}")


def _require_key(key: str, *lists: Iterable[Any]) -> None:
    for items in lists:
        for item in items:
            if not isinstance(item, dict) or key not in item:
                raise PatchError(f"map: {go_text(item)} does not contain declared merge key: {key}")
