"""Read YAML as JSON data, as Go's decoder reads it: trees from the events of a parser, without recursion, and scalars.

PyYAML's own composer and constructor are recursive, also in C, and expand each alias again. A few bytes of YAML can end
the process or make it hang. So this module uses only the events of the parser, one after the other. The depth of the
text is known before anything is built, and its size with expanded aliases is counted when an alias is read.

Numbers to the base of 60 are not read, and a time stays a string. Of all tags, only those of strings count. The time is
linear in the length of the text.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

__all__ = ("BadTree", "Tree", "read_tree")

_Parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOO_DEEP: Final = "exceeded max depth"


class BadTree(Exception):
    """
    A text is YAML, but it is not accepted.

    :param line: the line of the problem, from zero. None if it has no line
    """

    def __init__(self, problem: str, line: int | None = None):
        super().__init__(problem if line is None else f"line {line + 1}: {problem}")


@dataclass(slots=True)
class Tree:
    """
    The first document of a text.

    :param told: the texts about duplicate keys, one line each
    :param height: the number of levels
    :param is_shared: whether a part occurs at several places, as the same Python object
    """

    data: Any = None
    told: list[str] = field(default_factory=list)
    height: int = 0
    is_shared: bool = False


@dataclass(slots=True)
class _Node:
    """A value with its cost: its size in bytes when it is written out, and the number of its levels."""

    value: Any
    size: int
    height: int = 0


@dataclass(slots=True)
class _Open:
    """An object or a list that has begun and has not ended."""

    node: _Node
    anchor: str | None
    line: int
    seen: set[tuple[str | None, str]] | None = None
    key: tuple[str | None, str] | None = None
    name: str = ""


def read_tree(body: bytes, *, most_bytes: int, most_levels: int) -> Tree:
    """
    Read the first document of a text.

    :param most_bytes: the limit for the size of the text with expanded aliases
    :param most_levels: the limit for its depth with expanded aliases
    :raises BadTree: if it is larger or deeper, or cannot be JSON
    :raises yaml.YAMLError: if it is not YAML
    """
    parser = _Parser(body)
    try:
        return _Builder(most_bytes, most_levels).build(parser)
    finally:
        parser.dispose()


class _Builder:
    def __init__(self, most_bytes: int, most_levels: int):
        self._most_bytes = most_bytes
        self._most_levels = most_levels
        self._open: list[_Open] = []
        self._anchors: dict[str, _Node | None] = {}
        self._size = 0
        self._tree = Tree()

    def build(self, parser: Any) -> Tree:
        next_event = parser.get_event
        while True:
            event = next_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind is yaml.MappingStartEvent:
                self._begin({}, event, seen=set())
            elif kind is yaml.SequenceStartEvent:
                self._begin([], event, seen=None)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._end()
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentEndEvent or kind is yaml.StreamEndEvent:
                return self._tree

    def _scalar(self, event: Any) -> None:
        tag = event.tag
        if tag is None and not event.implicit[0]:
            tag = "!"
        line = event.start_mark.line
        try:
            value = _read_scalar(event.value, tag)
            node = _Node(value, len(event.value) + 2)
            if self._awaits_key():
                self._name((tag or type(value).__name__, event.value), _as_name(value))
                return self._keep_anchor(event.anchor, node)
        except _BadScalar as error:
            raise BadTree(str(error), line) from None
        self._keep_anchor(event.anchor, node)
        self._grow(node.size, line)
        return self._place(node, line)

    def _begin(self, container: Any, event: Any, seen: set[tuple[str | None, str]] | None) -> None:
        line = event.start_mark.line
        if self._awaits_key():
            raise BadTree("invalid map key", line)
        if len(self._open) >= self._most_levels:
            raise BadTree(_TOO_DEEP, line)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._grow(2, line)
        self._open.append(_Open(_Node(container, 2, 1), event.anchor, line, seen))

    def _end(self) -> None:
        done = self._open.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = done.node
        self._place(done.node, done.line)

    def _alias(self, event: Any) -> None:
        line = event.start_mark.line
        if event.anchor not in self._anchors:
            raise BadTree(f"unknown anchor '{event.anchor}' referenced")
        node = self._anchors[event.anchor]
        if node is None:
            raise BadTree(f"anchor '{event.anchor}' value contains itself")
        if self._awaits_key():
            if isinstance(node.value, dict | list):
                raise BadTree("invalid map key", line)
            try:
                return self._name((type(node.value).__name__, str(node.value)), _as_name(node.value))
            except _BadScalar as error:
                raise BadTree(str(error), line) from None
        self._tree.is_shared = True
        if len(self._open) + node.height > self._most_levels:
            raise BadTree(_TOO_DEEP, line)
        self._grow(node.size, line)
        return self._place(node, line)

    def _awaits_key(self) -> bool:
        if not self._open:
            return False
        around = self._open[-1]
        return around.seen is not None and around.key is None

    def _name(self, key: tuple[str | None, str], name: str) -> None:
        around = self._open[-1]
        around.key, around.name = key, name
        around.node.size += len(name) + 2
        self._grow(len(name) + 2, around.line)

    def _place(self, node: _Node, line: int) -> None:
        if not self._open:
            self._tree.data, self._tree.height = node.value, node.height
            return
        around = self._open[-1]
        whole = around.node
        whole.size += node.size
        if isinstance(node.value, dict | list):
            whole.height = max(whole.height, node.height + 1)
        if around.seen is None:
            whole.value.append(node.value)
            return
        assert around.key is not None
        key, around.key = around.key, None
        if key in around.seen:
            shown = json.dumps(key[1], ensure_ascii=False) if key[0] in _TEXTS else key[1]
            self._tree.told.append(f"line {line + 1}: key {shown} already set in map")
        around.seen.add(key)
        whole.value[around.name] = node.value

    def _keep_anchor(self, anchor: str | None, node: _Node) -> None:
        if anchor is not None:
            self._anchors[anchor] = node

    def _grow(self, size: int, line: int) -> None:
        self._size += size
        if self._size > self._most_bytes:
            raise BadTree("document contains excessive aliasing" if self._tree.is_shared else "too large", line)


#: The tags of keys that errors show in quotes.
_TEXTS = ("!", "str", "tag:yaml.org,2002:str")


# -- scalars -----------------------------------------------------------------------------------------------------------

_Scalar = str | int | float | bool | None

_PREFIX: Final = "tag:yaml.org,2002:"

_WORDS: Final[dict[str, _Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_FIRST_OF_NUMBERS: Final = frozenset("+-.0123456789")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_INTEGERS: Final = (
    (re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII), 10),
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+", re.ASCII), 16),
    (re.compile(r"[-+]?0[oO]?[0-7]+", re.ASCII), 8),
    (re.compile(r"[-+]?0[bB][01]+", re.ASCII), 2),
)
#: Python refuses to parse longer integers. The fields of the API need less than a tenth of this.
_MOST_DIGITS: Final = 4000


class _BadScalar(ValueError):
    """A scalar has no JSON value."""


def _read_scalar(text: str, tag: str | None) -> _Scalar:
    """
    The JSON value of a scalar.

    :param tag: its tag. None for a plain scalar whose type follows from its text, ``!`` for a quoted one
    :raises _BadScalar: if a number has no JSON value
    """
    if tag is None or tag.removeprefix(_PREFIX) in ("bool", "float", "int", "null"):
        return _checked(_guess(text))
    return text  # quoted scalars, and those with another tag


def _as_name(key: _Scalar) -> str:
    """
    A scalar as the name of a field.

    :raises _BadScalar: for null
    """
    if key is None:
        raise _BadScalar("unsupported map key of type: invalid, key: <nil>")
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float) and key.is_integer() and abs(key) < 1e21:
        return str(int(key))
    return str(key)


def _guess(text: str) -> _Scalar:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _FIRST_OF_NUMBERS or text[-1] == ":":
        return text
    plain = text.replace("_", "") if text[0] != "." else text
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(plain) is not None:
            if len(plain) > _MOST_DIGITS:
                raise _BadScalar(f"a number of {len(plain)} digits is too long")
            # In Go, an octal number may also begin with 0 alone.
            return int(plain.replace("o", "").replace("O", ""), base) if base == 8 else int(plain, base)
    if _FLOAT.fullmatch(plain) is not None:
        value = float(plain)
        return text if math.isinf(value) else value
    return text


def _checked(value: _Scalar) -> _Scalar:
    if type(value) is float and not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise _BadScalar(f"json: unsupported value: {shown}")
    return value
