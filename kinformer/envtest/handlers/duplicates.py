"""Duplicate fields of JSON objects. The last one is used, and the client gets a warning or an error.

Fast decoders use the last field and do not report the others. So this module first compares the number of fields in the
text and in the result. Only if there are more in the text, a slow decoder reads the text again and finds the names.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import msgspec

__all__ = ("MOST_TOLD", "duplicate_fields")

_MARKS = (b'":', b'" :')
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
    if not _has_duplicates(body, decoded):
        return []
    told: dict[str, None] = {}  # each text once, in order
    with contextlib.suppress(RecursionError):  # no real object is nested so deeply
        told.update(dict.fromkeys(_walk(_decode(body.decode()), "")))
    return list(told)[:MOST_TOLD]


def _has_duplicates(body: bytes, decoded: Any) -> bool:
    return sum(map(body.count, _MARKS)) > _encode(decoded).count(_MARKS[0])


def _walk(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, item in value:
            here = f"{path}.{name}" if path else name
            if name in seen:
                yield f'duplicate field "{here}"'
            seen.add(name)
            yield from _walk(item, here)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]")
