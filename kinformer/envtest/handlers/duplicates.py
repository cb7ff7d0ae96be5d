"""Fields that a JSON object has twice: the last one counts, and whoever sent it is told.

Decoders for speed take the last in silence. Whether there was more than one is seen by counting; only then is the text
gone through again, for the fields' names. The operations of a JSON patch have but four fields, and are gone through
for others too.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection
from typing import Any

import msgspec

from kinformer.meta.integers import read_unsigned

__all__ = ("duplicate_fields", "in_order_of_paths", "operation_fields", "told_in_order")

_MARKS = (b'":', b'" :')
_OF_OPERATIONS = frozenset(("op", "path", "from", "value"))
_MOST = 100
_encode = msgspec.json.Encoder().encode


class _Pairs(list[tuple[str, Any]]):
    """An object with all of its fields."""


_decode = json.JSONDecoder(object_pairs_hook=_Pairs).decode


def duplicate_fields(body: bytes, decoded: Any) -> list[str]:
    """
    What is told of each field that stands in its object more than once, in the order of the text.

    :param decoded: what the body says, each field once
    """
    return _walk_through(body) if _has_duplicates(body, decoded) else []


def told_in_order(body: bytes, unknown: Collection[str]) -> list[str]:
    """
    What is told of a body that has both fields of that kind and some that its type does not have.

    :param unknown: what is told of the latter, whose values nobody reads
    """
    return _walk_through(body, frozenset(unknown))


def in_order_of_paths(told: list[str]) -> list[str]:
    """What is told of fields, as these stand in a text whose objects have theirs sorted."""
    return sorted(told, key=_by_path) if len(told) > 1 else told


def _by_path(text: str) -> list[tuple[int, str]]:
    parts = re.split(r"[.\[\]]+", text)
    return [(-1, part) if (place := read_unsigned(part)) is None else (place, "") for part in parts]


def operation_fields(body: bytes, operations: Any) -> list[str]:
    """What is told of a JSON patch: fields that operations do not have, and those that they have twice."""
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
    # A dict for its keys, which are told of once, and in their order.
    told: dict[str, None] = {}
    with contextlib.suppress(RecursionError):  # as deep as nothing is that anybody writes
        _walk(_decode(body.decode()), "", unknown, told)
    return list(told)[:_MOST]


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
