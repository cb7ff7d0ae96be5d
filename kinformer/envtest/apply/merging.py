"""Merge a configuration into an object, and remove fields from an object."""

from __future__ import annotations

import copy
from typing import Any

from kinformer.envtest.apply.shapes import Shape
from kinformer.envtest.apply.trees import Tree, is_member, path_text

__all__ = ("NotMergeable", "check_mergeable", "merge", "remove")


class NotMergeable(Exception):
    """A configuration does not match its type, or two entries of a list have the same key. The text says where."""


def check_mergeable(value: Any, shape: Shape, path: str = "") -> None:
    """
    :raises NotMergeable: if a field is unknown, two entries of a list have the same key, or an entry has no key
    """
    if shape.is_closed and type(value) is dict:
        unknown = [f"{path}.{name}: field not declared in schema" for name in value if not shape.is_named(name)]
        if unknown:
            raise NotMergeable(unknown[0] if len(unknown) == 1 else "errors:\n" + "\n".join(f"  {e}" for e in unknown))
    if shape.is_leaf:
        return
    if type(value) is dict:
        for name, item in value.items():
            check_mergeable(item, shape.field(name), f"{path}.{name}")
    elif type(value) is list and shape.is_list:
        seen = set()
        for index, entry in enumerate(value):
            try:
                element = shape.element(entry)
            except ValueError as error:
                raise NotMergeable(f"{path}: element {index}: {error}") from None
            if element in seen:
                raise NotMergeable(f"{path}: duplicate entries for key {path_text((element,))}")
            seen.add(element)
            check_mergeable(entry, shape.entry, f"{path}[{index}]")


def merge(live: Any, wanted: Any, shape: Shape) -> Any:
    """
    Merge a configuration into a value. The entries of a list are in the order of the configuration. Entries that are
    not in the configuration keep their places.
    """
    if not shape.is_leaf and wanted is not None:
        if type(wanted) is dict and not shape.is_list:
            merged = dict(live) if type(live) is dict else {}
            for name, item in wanted.items():
                of_field = shape.field(name)
                merged[name] = merge(merged[name], item, of_field) if name in merged else copy.deepcopy(item)
            return merged
        if type(wanted) is list and shape.is_list:
            return _merge_lists(live if type(live) is list else [], wanted, shape)
    return copy.deepcopy(wanted)


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
        merged.append(copy.deepcopy(entry) if is_new else merge(of_live[name], entry, shape.entry))
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


def remove(value: Any, tree: Tree, shape: Shape) -> Any:
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
                kept[name] = remove(item, node, shape.field(name))
        return kept
    if type(value) is list and shape.is_list:
        left = []
        for entry, element in zip(value, _elements(value, shape), strict=True):
            node = tree.get(element)
            if node is None:
                left.append(entry)
            elif not is_member(node):
                left.append(remove(entry, node, shape.entry))
        return left
    return value
