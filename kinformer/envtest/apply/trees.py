"""Sets of fields, as ``fieldsV1`` writes them: trees of path elements.

A path element is ``f:name`` for a field, ``k:{…}`` for an entry by its key, ``v:…`` for a value of a set. A node that
is empty, or has ``"."``, is in the set itself; any other is only on the way to what is below. Trees are never changed:
what differs is made anew, the rest is shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

__all__ = (
    "Fields",
    "Path",
    "Tree",
    "difference",
    "intersection",
    "is_member",
    "iterate",
    "path_text",
    "union",
    "without",
)

Tree = dict[str, Any]
Path = tuple[str, ...]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_canonical = msgspec.json.Encoder(order="sorted").encode


class Fields:
    """
    One set of fields, in its two forms. There is one object for each set: equal sets are the same object.

    :ivar text: as JSON, its elements in their order
    """

    __slots__ = ("_tree", "text")

    def __init__(self, text: str, tree: Tree | None = None):
        self.text = text
        self._tree = tree

    @property
    def tree(self) -> Tree:
        if self._tree is None:
            self._tree = _decode(self.text)
        return self._tree

    @classmethod
    def of_text(cls, text: str) -> Fields:
        """
        :param text: a set in its canonical form
        """
        found = _fields.get(text)
        if found is None:
            if len(_fields) >= _REMEMBERED:
                _fields.clear()
            found = _fields[text] = cls(text)
        return found

    @classmethod
    def of_tree(cls, tree: Tree) -> Fields:
        key = _encode(tree)
        found = _by_tree.get(key)
        if found is None:
            if len(_by_tree) >= _REMEMBERED:
                _by_tree.clear()
            found = _by_tree[key] = cls.of_text(_text(tree))
        return found


#: Objects of one kind mostly have the same fields, and so do their managers.
_fields: dict[str, Fields] = {}
#: The same by their trees as they come, whose elements are in any order.
_by_tree: dict[bytes, Fields] = {}
#: Elements as they stand before what is below them.
_pieces: dict[str, str] = {}
_REMEMBERED = 5000


def _text(tree: Tree) -> str:
    if not tree:
        return "{}"
    names = sorted(tree)
    if len(names) > 1 and names[-2][0] in "kv":
        # Keys and values that are numbers are not in the order of their texts.
        names.sort(key=_order)
    parts = []
    for name in names:
        piece = _pieces.get(name)
        if piece is None:
            if len(_pieces) > _REMEMBERED:
                _pieces.clear()
            piece = _pieces[name] = f"{_encode(name).decode()}:"
        below = tree[name]
        parts.append(piece + _text(below) if below else piece + "{}")
    return "{" + ",".join(parts) + "}"


def _order(element: str) -> tuple[Any, ...]:
    """Names first, then keys, then values; what keys say is compared as what it is."""
    kind = element[:2]
    if kind == "k:":
        key = msgspec.json.decode(element[2:])
        return (kind, *((name, isinstance(value, str), value) for name, value in sorted(key.items())))
    return kind, element


def is_member(node: Tree) -> bool:
    return not node or "." in node


def union(one: Tree, other: Tree) -> Tree:
    """What is in either. The first one itself, if the other adds nothing."""
    made = None
    for name, node in other.items():
        here = one.get(name)
        if here is node:
            continue
        if here is None:
            joined = node
        elif name == ".":
            continue
        else:
            joined = _join(here, node)
            if joined is here:
                continue
        if made is None:
            made = dict(one)
        made[name] = joined
    return one if made is None else made


def _join(one: Tree, other: Tree) -> Tree:
    if not one:
        return other if not other or "." in other else {".": {}, **other}
    if not other:
        return one if "." in one else {".": {}, **one}
    return union(one, other)


def difference(one: Tree, other: Tree) -> Tree:
    """What is in the first and not in the other. The first one itself, if that is all of it."""
    made = None
    for name, node in other.items():
        here = one.get(name)
        if here is None or name == ".":
            continue
        left = _subtract(here, node)
        if left is here:
            continue
        if made is None:
            made = dict(one)
        if left is None:
            del made[name]
        else:
            made[name] = left
    return one if made is None else made


def _subtract(one: Tree, other: Tree) -> Tree | None:
    """What is left of a node; None for nothing."""
    if not one:
        return None if is_member(other) else one
    left = difference(one, other)
    if "." in left and is_member(other):
        left = {name: node for name, node in left.items() if name != "."}
    elif left is one:
        return one
    if left == {".": {}}:
        return {}
    return left or None


def without(one: Tree, path: Path) -> Tree:
    """The set without anything at a path and below."""
    name, *rest = path
    here = one.get(name)
    if here is None:
        return one
    made = dict(one)
    if rest and (left := without(here, tuple(rest))):
        if left is here:
            return one
        made[name] = left
    elif rest and not here:
        return one
    else:
        del made[name]
    return made


def intersection(one: Tree, other: Tree) -> Tree:
    """What is in both."""
    made: Tree = {}
    for name, node in other.items():
        here = one.get(name)
        if here is None or name == ".":
            continue
        both = intersection(here, node)
        if is_member(here) and is_member(node):
            made[name] = {".": {}, **both} if both else {}
        elif both:
            made[name] = both
    return made


def iterate(tree: Tree, path: Path = ()) -> Iterator[Path]:
    """Every path that is in the set: at each place what is there itself, then what is below."""
    names = sorted((name for name in tree if name != "."), key=_order)
    yield from ((*path, name) for name in names if is_member(tree[name]))
    for name in names:
        yield from iterate(tree[name], (*path, name))


def path_text(path: Path) -> str:
    """A path as people read it: ``.spec.containers[name="c"].image``."""
    parts = []
    for element in path:
        kind, rest = element[:2], element[2:]
        if kind == "f:":
            parts.append(f".{rest}")
        elif kind == "v:":
            parts.append(f"[={rest}]")
        elif kind == "k:":
            key = msgspec.json.decode(rest)
            said = ",".join(f"{name}={_canonical(value).decode()}" for name, value in sorted(key.items()))
            parts.append(f"[{said}]")
        else:
            parts.append(f"[{rest}]")
    return "".join(parts)
