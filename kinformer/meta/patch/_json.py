"""JSON values, compared as JSON: ``1``, ``1.0`` and ``true`` are three values, where Python says they are one."""

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
    """What a scalar can be looked up by; a list or an object is like nothing, itself included."""
    if isinstance(value, dict | list):
        return object()
    return type(value), value


def kind_of(value: Any) -> str:
    """What a value is, in JSON's words."""
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
