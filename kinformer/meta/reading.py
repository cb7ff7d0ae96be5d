"""Reads a field by its JSON name from any object: a mapping, a Struct, or an instance of a user's own class.

A field that the object or its type does not have is read as None.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

__all__ = ("attribute_of", "read")

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_Reader = Callable[[Any], Any]
_readers: dict[tuple[type, str], _Reader] = {}


def attribute_of(struct: type[msgspec.Struct], json_name: str) -> str | None:
    """The attribute of a Struct for a field's name in JSON; None if it has no such field."""
    encoded = struct.__struct_encode_fields__
    return struct.__struct_fields__[encoded.index(json_name)] if json_name in encoded else None


def read(obj: Any, json_name: str) -> Any:
    """The field of `obj` with this name in JSON, or None."""
    if obj is None:
        return None
    key = (type(obj), json_name)
    reader = _readers.get(key)
    if reader is None:
        _readers[key] = reader = _reader(*key)
    return reader(obj)


def _reader(type_: type, json_name: str) -> _Reader:
    if issubclass(type_, Mapping):
        return lambda obj: obj.get(json_name)
    if issubclass(type_, msgspec.Struct):
        attribute = attribute_of(type_, json_name)
        return (lambda _: None) if attribute is None else operator.attrgetter(attribute)
    attribute = _CAPITAL.sub("_", json_name).lower()
    return lambda obj: getattr(obj, attribute, None)
