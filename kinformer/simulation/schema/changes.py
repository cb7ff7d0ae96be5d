"""Changes: a field of an object, and the value that it gets. A change is one line: ``spec.replicas=3``.

The path is written as in the patterns of fields that may differ: ``spec.ports.0.name``, and ``[…]`` around a step that
has a dot or a slash. The value is JSON. Without a value, the field is removed: ``spec.paused=``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from kinformer.simulation.oracles.normal import path_of, steps_of

__all__ = ("ABSENT", "Change", "Path", "is_below", "value_at")

Path = tuple[str, ...]
"""The steps to a field: names, keys of maps, and the numbers of items."""


class _Absent:
    """The value of a field that an object does not have."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Change:
    """
    One field gets another value.

    :param path: the field
    :param value: the value; :data:`ABSENT` if the field is removed
    """

    path: Path
    value: Any

    @property
    def field(self) -> str:
        """The path as text."""
        return path_of(self.path)

    def __str__(self) -> str:
        value = "" if self.value is ABSENT else json.dumps(self.value, sort_keys=True, ensure_ascii=False)
        return f"{self.field}={value}"

    @classmethod
    def parse(cls, text: str) -> Change:
        """
        Read a change.

        :raises ValueError: if it is not ``PATH=VALUE``, with the value in JSON or empty
        """
        path, equals, value = text.partition("=")
        if not equals or not (steps := steps_of(path)):
            raise ValueError(f"{text!r} is not a change: want PATH=VALUE with JSON, like spec.replicas=3")
        try:
            return cls(steps, json.loads(value) if value else ABSENT)
        except json.JSONDecodeError as error:
            raise ValueError(f"{text!r}: the value is not JSON: {error}") from error

    def of(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """
        The object with this change.

        :raises ValueError: if the path leads through something that has no fields or items
        """
        changed: dict[str, Any] = json.loads(json.dumps(obj))
        found: Any = changed
        for step in self.path[:-1]:
            found = _inner(found, step, self.field)
        last = self.path[-1]
        if isinstance(found, list):
            found[int(last)] = self.value
        elif self.value is ABSENT:
            found.pop(last, None)
        else:
            found[last] = self.value
        return changed


def _inner(found: Any, step: str, field: str) -> Any:
    if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
        return found[int(step)]
    if isinstance(found, dict):
        return found.setdefault(step, {})
    raise ValueError(f"{field}: {step} is not in a mapping, or is no item of a list")


def value_at(obj: Any, path: Iterable[str]) -> Any:
    """The value at a path, :data:`ABSENT` if there is none."""
    for step in path:
        if isinstance(obj, Mapping) and step in obj:
            obj = obj[step]
        elif isinstance(obj, list) and step.isdecimal() and int(step) < len(obj):
            obj = obj[int(step)]
        else:
            return ABSENT
    return obj


def is_below(path: Path, pattern: Path) -> bool:
    """Whether a field is that of a pattern, or within it. The steps of a pattern may have ``*``."""
    return len(path) >= len(pattern) and all(map(fnmatchcase, path, pattern))
