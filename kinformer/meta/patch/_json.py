"""Comparison of JSON values: ``1``, ``1.0`` and ``true`` are three values, although they are equal in Python."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

__all__ = ("kind_of", "same", "scalar_key")


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same JSON."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return len(a) == len(b) and all(key in b and same(value, b[key]) for key, value in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def scalar_key(value: Any) -> Hashable:
    """A key to look a scalar up by. A list or an object is equal to no other, not even to itself."""
    if isinstance(value, dict | list):
        return object()
    return type(value), value


def kind_of(value: Any) -> str:
    """The type of a value, in JSON's words."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
