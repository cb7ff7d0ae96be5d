"""Paths into schemas, as rules and selectable fields write them: ``.spec.ports['http']``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ("PathError", "Place", "find_field", "normal_path")

_QUOTED = r"'(?:[^'\\]|\\.)*'"
_TOKEN = re.compile(rf"{_QUOTED}|[.\[\]]|[^.\[\]']+")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class PathError(ValueError):
    """There is no field at a path."""


class Place(NamedTuple):
    """
    The field at a path.

    :param path: the path as errors write it
    :param schema: the schema of the field
    """

    path: str
    schema: Mapping[str, Any]


def find_field(path: str, schema: Mapping[str, Any], *, with_keys: bool = True) -> Place:
    """
    Find the field at a path.

    :param with_keys: whether names in brackets are allowed
    :raises PathError: if there is none. The text is the API's
    """
    tokens = _TOKEN.findall(path)
    found, index = "", 0
    while index < len(tokens):
        token = tokens[index]
        if token == "[":
            if not with_keys:
                raise PathError("array notation is not allowed")
            name = _quoted(tokens[index + 1] if index + 1 < len(tokens) else None)
            closing = tokens[index + 2] if index + 2 < len(tokens) else None
            schema, found = _enter(schema, name, found)
            if closing is None:
                raise PathError("unexpected end of JSON path")
            if closing != "]":
                raise PathError(f"expected ] but got {closing}")
            index += 3
        elif token == ".":
            if index + 1 >= len(tokens):
                raise PathError("unexpected end of JSON path")
            schema, found = _enter(schema, tokens[index + 1], found)
            index += 2
        else:
            raise PathError(f"expected [ or . but got: {token}")
    return Place(found, schema)


def _enter(schema: Mapping[str, Any], name: str, path: str) -> tuple[Mapping[str, Any], str]:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    if properties is not None:
        if name not in properties:
            raise PathError("does not refer to a valid field")
        return properties[name], f"{path}.{name}" if path else name
    if isinstance(additional, Mapping):
        return additional, f"{path}[{name}]"
    raise PathError("does not refer to a valid field")


def _quoted(token: str | None) -> str:
    if token is None:
        raise PathError("unexpected end of JSON path")
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise PathError(f"expected single quoted string but got {token}")

    def unescape(found: re.Match[str]) -> str:
        try:
            return _ESCAPES[found[0][1]]
        except KeyError:
            raise PathError(f"invalid string literal: invalid escape char {found[0]}") from None

    return re.sub(r"\\.", unescape, token[1:-1])


def normal_path(path: str, schema: Mapping[str, Any]) -> str | None:
    """The path as errors write it. None if there is no field at it."""
    try:
        return find_field(path, schema).path
    except PathError:
        return None
