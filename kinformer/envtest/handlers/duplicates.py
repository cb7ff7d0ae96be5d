"""Fields that a JSON object has twice: the last one counts, and whoever sent it is told.

Decoders for speed take the last in silence. Whether there was more than one is seen by counting; only then is the text
gone through again, for the fields' names.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec

__all__ = ("duplicate_fields",)

_MARKS = (b'":', b'" :')
_encode = msgspec.json.Encoder().encode


class _Pairs(list[tuple[str, Any]]):
    """An object with all of its fields."""


_decode = json.JSONDecoder(object_pairs_hook=_Pairs).decode


def duplicate_fields(body: bytes, decoded: Any) -> list[str]:
    """
    What is told of each field that stands in its object more than once, in the order of the text.

    :param decoded: what the body says, each field once
    """
    if sum(map(body.count, _MARKS)) <= _encode(decoded).count(_MARKS[0]):
        return []
    told: list[str] = []
    with contextlib.suppress(RecursionError):  # as deep as nothing is that anybody writes
        _walk(_decode(body.decode()), "", told)
    return told


def _walk(value: Any, path: str, told: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, item in value:
            here = f"{path}.{name}" if path else name
            text = f'duplicate field "{here}"'
            if name in seen and text not in told:
                told.append(text)
            seen.add(name)
            _walk(item, here, told)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _walk(item, f"{path}[{index}]", told)
