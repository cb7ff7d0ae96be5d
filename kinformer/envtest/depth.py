"""Depth: limits the nesting of JSON, to more than any object of the API needs and less than Python's recursion limit.

kube-apiserver's limit is 10,000 levels. Python's own functions recurse for each level, and fail at some hundreds. A
request with more levels than this server supports is refused before it is processed.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ("MAX_DEPTH", "MOST_LEVELS", "TooDeep", "decode", "is_too_deep", "may_be_too_deep")

#: The most levels of an object. {"a": 1} has one level.
MAX_DEPTH: Final = 200
#: The most levels of an object that is returned. Its managed fields repeat its levels, a few levels further down.
MOST_LEVELS: Final = MAX_DEPTH + 10


class TooDeep(ValueError):
    """JSON has more levels than this server supports."""

    def __init__(self) -> None:
        super().__init__("exceeded max depth")


def decode(body: bytes) -> Any:
    """
    Decode a text of JSON.

    :raises TooDeep: if it is nested too deeply
    :raises msgspec.DecodeError: if it is not JSON
    :raises UnicodeDecodeError: if it is not UTF-8
    """
    try:
        data = msgspec.json.decode(body)
    except RecursionError:
        raise TooDeep from None
    if may_be_too_deep(body) and is_too_deep(data):
        raise TooDeep
    return data


def may_be_too_deep(body: bytes) -> bool:
    """Whether a text of JSON has enough brackets to be too deep. Most texts have not, and need no further check."""
    return body.count(b"{") + body.count(b"[") > MAX_DEPTH


def is_too_deep(value: Any) -> bool:
    """Whether a value has more levels than this server supports."""
    metadata = value.get("metadata") if type(value) is dict else None
    if type(metadata) is dict and "managedFields" in metadata:
        metadata = {name: item for name, item in metadata.items() if name != "managedFields"}
        return _goes_below(value, MOST_LEVELS) or _goes_below({**value, "metadata": metadata}, MAX_DEPTH)
    return _goes_below(value, MAX_DEPTH)


def _goes_below(value: Any, levels: int) -> bool:
    """Whether a value has more levels than this. The check goes level by level, without recursion."""
    level = [value]
    for _ in range(levels):
        level = [
            item
            for one in level
            for item in (one.values() if type(one) is dict else one if type(one) is list else ())
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return False
    return True
