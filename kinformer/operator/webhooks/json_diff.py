"""JSON patches for the answers of mutating webhooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ("create_json_patch",)


def create_json_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """
    Make the operations (RFC 6902) that turn `before` into `after`.

    The patch does not touch fields that neither object has, so both may have only some fields of the whole object.
    Lists of the same length are compared item by item. Otherwise the whole list is replaced.
    """
    return list(_operations(before, after, ""))


def _operations(before: Any, after: Any, path: str) -> Iterator[dict[str, Any]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in before:
            if name not in after:
                yield {"op": "remove", "path": f"{path}/{_escaped(name)}"}
        for name, value in after.items():
            here = f"{path}/{_escaped(name)}"
            if name not in before:
                yield {"op": "add", "path": here, "value": value}
            else:
                yield from _operations(before[name], value, here)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _operations(one, other, f"{path}/{index}")
    elif type(before) is not type(after) or before != after:
        yield {"op": "replace", "path": path, "value": after}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
