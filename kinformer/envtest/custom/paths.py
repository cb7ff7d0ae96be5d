"""Paths into schemas, as rules and selectable fields write them: ``.spec.ports['http']``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ("PathError", "Place", "find_field", "normal_path")

_step = re.compile(r"\.(?P<name>[^.\[\]']+)|\['(?P<key>(?:[^'\\]|\\['\\])*)'\]").match


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
    :raises PathError: if there is none
    """
    place, at = Place("", schema), 0
    while at < len(path):
        if path[at] == "[" and not with_keys:
            raise PathError("array notation is not allowed")
        if (step := _step(path, at)) is None:
            raise PathError(f"expected .name or ['name'] but got: {path[at:]}")
        place = _enter(place, step["name"] or re.sub(r"\\(.)", r"\1", step["key"] or ""))
        at = step.end()
    return place


def _enter(place: Place, name: str) -> Place:
    properties, additional = place.schema.get("properties"), place.schema.get("additionalProperties")
    if properties is not None and name in properties:
        return Place(f"{place.path}.{name}".lstrip("."), properties[name])
    if properties is None and isinstance(additional, Mapping):
        return Place(f"{place.path}[{name}]", additional)
    raise PathError("does not refer to a valid field")


def normal_path(path: str, schema: Mapping[str, Any]) -> str | None:
    """The path as errors write it. None if there is no field at it."""
    try:
        return find_field(path, schema).path
    except PathError:
        return None
