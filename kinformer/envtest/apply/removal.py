"""Taking one field out of an object."""

from __future__ import annotations

from typing import Any

import msgspec

from kinformer.envtest.apply.fields import Path

__all__ = ("remove_path",)

_DEFAULTS = {"protocol": "TCP"}


def remove_path(obj: Any, path: Path) -> None:
    """Take a field, an entry of a keyed list or a scalar of a set out of an object, in place, if it is there."""
    target = obj
    for part in path[:-1]:
        target = _step(target, part)
        if target is None:
            return
    kind, _, rest = path[-1].partition(":")
    if kind == "f" and isinstance(target, dict):
        target.pop(rest, None)
    elif kind == "k" and isinstance(target, list):
        entry = _entry(target, rest)
        if entry is not None:
            target.remove(entry)
    elif kind == "v" and isinstance(target, list):
        value = msgspec.json.decode(rest)
        if value in target:
            target.remove(value)


def _step(target: Any, part: str) -> Any:
    kind, _, rest = part.partition(":")
    if kind == "f":
        return target.get(rest) if isinstance(target, dict) else None
    return _entry(target, rest) if isinstance(target, list) else None


def _entry(entries: list[Any], key: str) -> Any:
    keys = msgspec.json.decode(key)
    for entry in entries:
        if isinstance(entry, dict) and all(entry.get(name, _DEFAULTS.get(name)) == keys[name] for name in keys):
            return entry
    return None
