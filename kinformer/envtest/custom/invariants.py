"""Rules for custom resources that schemas do not express for single values.

The numbers of the scale subresource must be valid, embedded objects must be valid API objects, and lists that are sets
or maps must not contain duplicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kinformer.envtest.causes import duplicate, invalid, required
from kinformer.envtest.registry.schema import Problems, check_model
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.fields import KIND_NAME
from kinformer.envtest.strategy.metadata import path_segment, validate_metadata

__all__ = ("check_embedded", "check_lists", "check_scale", "prune_embedded")

_MOST_REPLICAS = (1 << 31) - 1
_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}", type(None): "<nil>"}


# -- numbers for scaling ---------------------------------------------------------------------------------------------


def check_scale(obj: Obj, scale: Mapping[str, str], *, status_only: bool = False) -> Iterator[Cause]:
    """
    Check the fields that a definition's scale subresource uses.

    :param scale: the paths of these fields
    :param status_only: whether only the status can have changed
    """
    for name in ("statusReplicasPath",) if status_only else ("specReplicasPath", "statusReplicasPath"):
        path = scale.get(name, "")
        value, wrong = _nested(obj, path, int)
        if wrong:
            yield invalid(path, 0, wrong)
        elif value is not None and value < 0:
            yield invalid(path, value, "should be a non-negative integer")
        elif value is not None and value > _MOST_REPLICAS:
            yield invalid(path, value, f"should be less than or equal to {_MOST_REPLICAS}")
    if path := scale.get("labelSelectorPath", ""):
        _, wrong = _nested(obj, path, str)
        if wrong:
            yield invalid(path, "", wrong)


def _nested(obj: Obj, path: str, wanted: type) -> tuple[Any, str]:
    """
    A value of a type within an object, or None without one. The second result is the error text if its type is wrong.
    """
    value: Any = obj
    keys = path.lstrip(".").split(".")
    for index, key in enumerate(keys):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            return None, _wrong_type(value, keys[: index + 1], "map[string]interface{}")
        if key not in value:
            return None, ""
        value = value[key]
    if type(value) is not wanted:
        return None, _wrong_type(value, keys, _GO_TYPES[wanted])
    return value, ""


def _wrong_type(value: Any, keys: Sequence[str], wanted: str) -> str:
    found = _GO_TYPES.get(type(value), "map[string]interface {}")
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f".{'.'.join(keys)} accessor error: {shown} is of the type {found}, expected {wanted}"


# -- embedded objects ------------------------------------------------------------------------------------------------


def check_embedded(value: Any, schema: Mapping[str, Any]) -> Iterator[Cause]:
    """Check the API objects that a value contains."""
    for embedded, path in _embedded(value, schema):
        yield from _check_object(embedded, f"{path}." if path else "")


def prune_embedded(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Remove unknown fields from the metadata of embedded objects, in place. Returns their paths."""
    unknown: list[str] = []
    for embedded, path in _embedded(value, schema):
        if path and isinstance(metadata := embedded.get("metadata"), dict):
            found = Problems()
            kept = check_model("V1ObjectMeta", metadata, found)
            if found.error is None:
                embedded["metadata"] = kept
                unknown += [text.replace('"', f'"{path}.metadata.', 1) for text in found.unknown]
    return sorted(unknown)


def _embedded(value: Any, schema: Mapping[str, Any]) -> Iterator[tuple[Obj, str]]:
    """The embedded objects, each with its path."""
    for one, of_one, path in _walk(value, schema):
        if isinstance(one, dict) and of_one.get("x-kubernetes-embedded-resource"):
            yield one, path


def _walk(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[Any, Mapping[str, Any], str]]:
    """A value and those within it that the schema describes, each with its schema and path. Outer ones come first."""
    yield value, schema, path
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _walk(item, items, f"{path}[{index}]")
    elif isinstance(value, dict):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, item in sorted(value.items()):
            if key in properties:
                yield from _walk(item, properties[key], f"{path}.{key}" if path else key)
            elif isinstance(additional, dict):
                yield from _walk(item, additional, f"{path}[{key}]")


def _check_object(value: Obj, prefix: str) -> Iterator[Cause]:
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield required(f"{prefix}{name}")
        elif not isinstance(value[name], str):
            yield invalid(f"{prefix}{name}", value[name], "must be a string")
        elif not value[name]:
            yield invalid(f"{prefix}{name}", "", "must not be empty")
        elif name == "apiVersion" and value[name].count("/") > 1:
            yield invalid(f"{prefix}{name}", value[name], f"unexpected GroupVersion string: {value[name]}")
        elif name == "kind":
            yield from KIND_NAME(value[name], f"{prefix}{name}")
    if isinstance(metadata := value.get("metadata"), dict):
        found = Problems()
        check_model("V1ObjectMeta", metadata, found)
        if found.error is not None:
            # A field of the metadata has a wrong type, so the values cannot be checked.
            yield invalid(f"{prefix}metadata", metadata, found.error)
            return
        named = {**metadata, "name": metadata.get("name") or "fakename"}
        for cause in validate_metadata(named, path_segment):
            yield cause._replace(field=prefix + cause.field)


# -- lists -----------------------------------------------------------------------------------------------------------


def check_lists(value: Any, schema: Mapping[str, Any]) -> Iterator[Cause]:
    """Check that lists that are sets, or maps by keys of their items, have no duplicates."""
    for one, of_one, path in _walk(value, schema):
        kind = of_one.get("x-kubernetes-list-type") if isinstance(one, list) else None
        if kind == "set":
            yield from _repeated(one, path)
        elif kind == "map":
            yield from _check_map(one, of_one.get("x-kubernetes-list-map-keys") or (), path)


def _check_map(value: list[Any], keys: Sequence[str], path: str) -> Iterator[Cause]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            yield invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
            return
    yield from _repeated([{key: item[key] for key in keys if key in (item or {})} for item in value], path)


def _repeated(items: list[Any], path: str) -> Iterator[Cause]:
    """Report each duplicate item once."""
    seen: dict[bytes, int] = {}
    for index, item in enumerate(items):
        text = msgspec.json.encode(item, order="sorted")
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield duplicate(f"{path}[{index}]", item)
