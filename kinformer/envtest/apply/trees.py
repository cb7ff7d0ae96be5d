"""Sets of fields, as in ``fieldsV1``: trees of path elements.

A path element is ``f:name`` for a field, ``k:{…}`` for an entry by its key, or ``v:…`` for a value of a set. A node
that is empty, or contains ``"."``, is in the set itself. Any other node only leads to the nodes below it. Trees are
immutable: a changed tree is a new one that shares the unchanged parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec

__all__ = (
    "Fields",
    "Path",
    "Tree",
    "as_member",
    "difference",
    "element_order",
    "fields_of_text",
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
_REMEMBERED: Final = 5000


class Fields:
    """
    A set of fields, as text and as a tree. Equal sets are mostly the same object, because they are cached.

    :ivar text: the set as JSON, with its elements in order
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
    def of_tree(cls, tree: Tree) -> Fields:
        return _of_encoded(_encode(tree))


# Cached, because objects of one kind mostly have the same fields, and their managers own the same ones.
#: The fields of a text in its canonical form.
fields_of_text = lru_cache(_REMEMBERED)(Fields)


@lru_cache(_REMEMBERED)
def _of_encoded(tree: bytes) -> Fields:
    """The fields of a tree in JSON, with its elements in any order."""
    return fields_of_text(_text(_decode(tree)))


@lru_cache(_REMEMBERED)
def as_member(element: str) -> str:
    """A path element as the name of a JSON member, with the colon."""
    return f"{_encode(element).decode()}:"


def _text(tree: Tree) -> str:
    if not tree:
        return "{}"
    names = sorted(tree)
    if len(names) > 1 and names[-2][0] in "kv":
        # Numbers in keys and values are not in the order of their texts.
        names.sort(key=element_order)
    return "{" + ",".join([as_member(name) + _text(tree[name]) for name in names]) + "}"


def element_order(element: str) -> tuple[Any, ...]:
    """The sort key of a path element: fields first, then keys, then values. The values in keys are compared by type."""
    kind = element[:2]
    if kind == "k:":
        key = sorted(msgspec.json.decode(element[2:]).items())
        return (kind, *((name, type(one) is str, one is None, 0 if one is None else one) for name, one in key))
    return kind, element


def is_member(node: Tree) -> bool:
    return not node or "." in node


def union(one: Tree, other: Tree) -> Tree:
    """The fields that are in either set. It returns `one` itself if `other` adds nothing."""
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
    """The fields that are in `one` and not in `other`. It returns `one` itself if nothing is removed."""
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
    """What remains of a node. None if nothing remains."""
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
    """The set without the fields at a path and below it."""
    name, *rest = path
    here = one.get(name)
    left = without(here, tuple(rest)) if rest and here else None
    if here is None or left is here or (rest and not here):
        return one
    return {**one, name: left} if left else {other: node for other, node in one.items() if other != name}


def intersection(one: Tree, other: Tree) -> Tree:
    """The fields that are in both sets."""
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
    """All paths in the set. At each node, the paths that end there come before the longer ones."""
    names = sorted((name for name in tree if name != "."), key=element_order)
    yield from ((*path, name) for name in names if is_member(tree[name]))
    for name in names:
        yield from iterate(tree[name], (*path, name))


def path_text(path: Path) -> str:
    """A path as in error texts: ``.spec.containers[name="c"].image``."""
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
