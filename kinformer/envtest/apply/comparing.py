"""Which fields an object sets, and which ones differ between two versions of it.

If a write adds an object or a list, the set of fields includes the object or list itself. The set of an applied
configuration includes only the fields in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kinformer.envtest.apply.shapes import LEAF, Shape
from kinformer.envtest.apply.trees import Tree, as_member, element_order, is_member

__all__ = ("compare_fields", "mentioned", "named", "text_of_new")

_MISSING: Any = object()
_EMPTY: Tree = {}
#: How many different sets of keys are cached for one shape. A map has data as keys, so it may have very many.
_REMEMBERED = 500


# -- of something new ------------------------------------------------------------------------------------------------


def text_of_new(value: Any, shape: Shape, zero: Any = _MISSING) -> str:
    """
    The fields of a new object, as JSON. ``""`` if there are none.

    This runs for every create and is written for speed: it makes the text without making the tree.

    :param zero: the empty object of the kind. Its values are not counted as set
    """
    if type(value) is dict:
        if not value or shape.is_leaf:
            return "" if value == zero else "{}"
        if zero is _MISSING:
            return _text_of_map(value, shape)
        parts = []
        of_zero = zero if type(zero) is dict else _EMPTY
        for name, piece, whole in _pieces_of(tuple(value), shape)[0]:
            item = value[name]
            if name in of_zero:
                before = of_zero[name]
                if item != before and (inner := text_of_new(item, shape.field(name), before)):
                    parts.append(piece + inner)
            elif item and (item.__class__ is dict or item.__class__ is list):
                parts.append(piece + _text(item, shape.field(name)))
            else:
                parts.append(whole)
        return "{" + ",".join(parts) + "}" if parts else ""
    if type(value) is list and value and shape.is_list:
        return _text_of_list(value, shape, marked=zero is _MISSING)
    return "{}"


def _text(item: Any, shape: Shape) -> str:
    if item.__class__ is dict:
        return _text_of_map(item, shape)
    return _text_of_list(item, shape, marked=True) if shape.is_list else "{}"


#: A field's name, the beginning of its text, and its whole text if it has no fields of its own.
_Piece = tuple[str, str, str]


def _pieces_of(names: tuple[str, ...], shape: Shape) -> tuple[list[_Piece], str]:
    """The parts of the text of an object with these fields, and its whole text if none has fields of its own."""
    found = shape.pieces.get(names)
    if found is None:
        pieces = [(name, piece, f"{piece}{{}}") for name in sorted(names) for piece in (as_member(f"f:{name}"),)]
        found = (pieces, "{" + ",".join(['".":{}', *(whole for _, _, whole in pieces)]) + "}")
        if len(shape.pieces) < _REMEMBERED:
            shape.pieces[names] = found
    return found


def _text_of_map(value: dict[str, Any], shape: Shape) -> str:
    if shape.is_leaf or not value:
        return "{}"
    pieces, flat = _pieces_of(tuple(value), shape)
    for item in value.values():
        if item and (item.__class__ is dict or item.__class__ is list):
            break
    else:
        return flat
    parts = ['".":{}']
    for name, piece, whole in pieces:
        item = value[name]
        if item and (item.__class__ is dict or item.__class__ is list):
            parts.append(piece + _text(item, shape.field(name)))
        else:
            parts.append(whole)
    return "{" + ",".join(parts) + "}"


def _text_of_list(value: list[Any], shape: Shape, marked: bool) -> str:
    mark = '".":{},' if marked else ""
    if len(value) == 1 and shape.keys and type(entry := value[0]) is dict:
        try:
            return f"{{{mark}{as_member(shape.element(entry))}{_text_of_map(entry, shape.entry)}}}"
        except ValueError:
            return "{}"
    parts: dict[str, str] = {}
    for entry in value:
        try:
            element = shape.element(entry)
        except ValueError:
            continue
        parts[element] = "{}" if element in parts or not shape.keys else _text_of_map(entry, shape.entry)
    names = sorted(parts, key=element_order) if len(parts) > 1 else parts
    told = ",".join([as_member(name) + parts[name] for name in names])
    return f"{{{mark}{told}}}" if told else "{}"


def everything(value: Any, shape: Shape) -> Tree:
    """The fields of a new part of an object, as a tree."""
    if type(value) is dict:
        if shape.is_leaf or not value:
            return {}
        return {".": {}, **{f"f:{name}": everything(item, shape.field(name)) for name, item in value.items()}}
    if type(value) is list and value and shape.is_list:
        return {".": {}, **{name: _entry(entries, shape) for name, entries in _grouped(value, shape).items()}}
    return {}


def _entry(entries: list[Any], shape: Shape) -> Tree:
    # If several entries have the same key, the set has only the key, and not their fields.
    return everything(entries[0], shape.entry) if len(entries) == 1 and shape.keys else {}


def _grouped(value: Any, shape: Shape) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for entry in value or ():
        try:
            groups.setdefault(shape.element(entry), []).append(entry)
        except ValueError:
            continue
    return groups


# -- of a change -----------------------------------------------------------------------------------------------------


def compare(old: Any, new: Any, shape: Shape) -> tuple[Tree | None, Tree | None]:
    """
    The differences of two values that both exist and are not equal.

    :return: the fields that were changed or added, and the fields that were removed. An empty set means the value
        itself. None means nothing
    """
    if shape.is_leaf:
        return {}, None
    if shape.is_list:
        if (old is None or type(old) is list) and (new is None or type(new) is list):
            return _compare_lists(old, new, shape) if old or new else ({}, None)
        return {}, None
    old_is_map, new_is_map = type(old) is dict, type(new) is dict
    if (old_is_map or old is None) and (new_is_map or new is None):
        if not old and not new:
            return {}, None
        old, new = old or _EMPTY, new or _EMPTY
        changed, removed = compare_fields(old, new, shape, {**old, **new})
        return changed or None, removed or None
    if new_is_map and new:
        return everything(new, shape), None
    if old_is_map and old:
        removed = {name: node for name, node in everything(old, shape).items() if name != "."}
        return {}, removed
    return {}, None


def compare_fields(
    old: Mapping[str, Any], new: Mapping[str, Any], shape: Shape, names: Iterable[str]
) -> tuple[Tree, Tree]:
    """
    The differences of some fields of two objects.

    :return: the fields that were changed or added, and the fields that were removed
    """
    changed: Tree = {}
    removed: Tree = {}
    for name in names:
        before, after = old.get(name, _MISSING), new.get(name, _MISSING)
        if before == after:
            continue
        of_field = shape.field(name)
        if before is _MISSING:
            changed[f"f:{name}"] = everything(after, of_field)
        elif after is _MISSING:
            removed[f"f:{name}"] = everything(before, of_field)
        else:
            more, less = compare(before, after, of_field)
            if more is not None:
                changed[f"f:{name}"] = more
            if less is not None:
                removed[f"f:{name}"] = less
    return changed, removed


def _compare_lists(old: Any, new: Any, shape: Shape) -> tuple[Tree | None, Tree | None]:
    before, after = _grouped(old, shape), _grouped(new, shape)
    changed: Tree = {}
    removed: Tree = {}
    for name, entries in after.items():
        were = before.get(name)
        if were is None:
            changed[name] = _entry(entries, shape)
        elif were == entries:
            continue
        elif len(were) == 1 and len(entries) == 1:
            more, less = compare(were[0], entries[0], shape.entry)
            if more is not None:
                changed[name] = more
            if less is not None:
                removed[name] = less
        elif len(were) > 1 and len(entries) > 1:
            changed[name] = {}
        elif len(were) > 1:
            changed[name], removed[name] = everything(entries[0], shape.entry), {}
        else:
            gone = everything(were[0], shape.entry)
            changed[name], removed[name] = {}, {key: node for key, node in gone.items() if key != "."}
    for name, entries in before.items():
        if name not in after:
            removed[name] = _entry(entries, shape)
    return changed or None, removed or None


# -- of an applied configuration -------------------------------------------------------------------------------------


def mentioned(value: Any, shape: Shape) -> Tree:
    """The fields in a configuration: the innermost ones, and the entries of lists and maps."""
    tree: Tree = {}
    if type(value) is dict and not shape.is_leaf:
        for name, item in value.items():
            of_field = shape.field(name)
            if _is_end(item, of_field):
                tree[f"f:{name}"] = {}
            elif inner := mentioned(item, of_field):
                tree[f"f:{name}"] = inner if shape.is_named(name) else {".": {}, **inner}
            elif not shape.is_named(name):
                tree[f"f:{name}"] = {}
    elif type(value) is list and shape.is_list:
        for name, entries in _grouped(value, shape).items():
            inner = mentioned(entries[0], shape.entry) if len(entries) == 1 and shape.keys else {}
            tree[name] = {".": {}, **inner} if inner else {}
    return tree


def _is_end(item: Any, shape: Shape) -> bool:
    if item is None or shape.is_leaf:
        return True
    if type(item) is dict:
        return not item
    # Without a schema, a list is atomic.
    return type(item) is not list or not shape.is_list


def named(tree: Tree, shape: Shape) -> Tree:
    """The set, together with the fields of the types that contain its fields."""
    made: Tree = {}
    for name, node in tree.items():
        if name == ".":
            made[name] = node
            continue
        is_field = name.startswith("f:")
        inner = named(node, shape.field(name[2:]) if is_field else shape.entry if name[:2] == "k:" else LEAF)
        if is_field and inner and not is_member(inner) and shape.is_named(name[2:]):
            inner = {".": {}, **inner}
        made[name] = inner
    return made
