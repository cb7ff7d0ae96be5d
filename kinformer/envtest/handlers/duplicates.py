"""Duplicate fields of JSON objects. The last one is used, and the client gets a warning or an error.

Fast decoders use the last field and do not report the others. So this module first compares the number of fields in the
text and in the result. Only if there are more in the text, a slow decoder reads the text again and finds the names.
JSON patches are searched for unknown fields too, because an operation has only four fields.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection
from typing import Any

import msgspec

__all__ = ("MOST_TOLD", "duplicate_fields", "operation_fields")

_MARKS = (b'":', b'" :')
_OF_OPERATIONS = frozenset(("op", "path", "from", "value"))
#: The most duplicate and unknown fields that Kubernetes' decoder tells of.
MOST_TOLD = 100
_encode = msgspec.json.Encoder().encode


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with all of its fields, duplicates included."""


_decode = json.JSONDecoder(object_pairs_hook=_Pairs).decode


def duplicate_fields(body: bytes, decoded: Any) -> list[str]:
    """
    The texts about fields that occur more than once in their object, in the order of the text.

    :param decoded: the decoded body, with each field once
    """
    return _walk_through(body) if _has_duplicates(body, decoded) else []


def operation_fields(body: bytes, operations: Any) -> list[str]:
    """The texts about a JSON patch's operations: their unknown and duplicate fields."""
    if not isinstance(operations, list):
        return []
    fields = [(index, name) for index, one in enumerate(operations) for name in one or ()]
    unknown = {f'unknown field "[{index}].{name}"' for index, name in fields if name not in _OF_OPERATIONS}
    if not unknown and not _has_duplicates(body, operations):
        return []
    return [f"json patch {text}" for text in _walk_through(body, unknown)]


def _has_duplicates(body: bytes, decoded: Any) -> bool:
    return sum(map(body.count, _MARKS)) > _encode(decoded).count(_MARKS[0])


def _walk_through(body: bytes, unknown: Collection[str] = ()) -> list[str]:
    # The keys of this dict are the texts: each one once, in order.
    told: dict[str, None] = {}
    with contextlib.suppress(RecursionError):  # no real object is nested so deeply
        _walk(_decode(body.decode()), "", unknown, told)
    return list(told)[:MOST_TOLD]


def _walk(value: Any, path: str, unknown: Collection[str], told: dict[str, None]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, item in value:
            here = f"{path}.{name}" if path else name
            if unknown and (text := f'unknown field "{here}"') in unknown:
                told[text] = None
                continue
            if name in seen:
                told[f'duplicate field "{here}"'] = None
            seen.add(name)
            _walk(item, here, unknown, told)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _walk(item, f"{path}[{index}]", unknown, told)
