"""How deep JSON may be nested: deeper than anything of the API goes, and not so deep that Python cannot follow.

kube-apiserver stops at 10,000 levels. Python's own functions call themselves for each level, and give up at some
hundreds; a request that is nested more deeply than this server follows is refused before anything is done with it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ("MAX_DEPTH", "MOST_LEVELS", "TooDeep", "decode", "is_too_deep", "may_be_too_deep")

#: How deep an object may be. {"a": 1} is one level deep.
MAX_DEPTH: Final = 200
#: How deep what is shown of one may be: its managed fields name all that it has, and stand some levels down.
MOST_LEVELS: Final = MAX_DEPTH + 10


class TooDeep(ValueError):
    """JSON that is nested more deeply than this server follows."""

    def __init__(self) -> None:
        super().__init__("exceeded max depth")


def decode(body: bytes) -> Any:
    """
    What a text of JSON says.

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
    """Whether a text of JSON has brackets enough to be too deep: most have not, and need no second look."""
    return body.count(b"{") + body.count(b"[") > MAX_DEPTH


def is_too_deep(value: Any) -> bool:
    """Whether a value is nested more deeply than this server follows."""
    metadata = value.get("metadata") if type(value) is dict else None
    if type(metadata) is dict and "managedFields" in metadata:
        metadata = {name: item for name, item in metadata.items() if name != "managedFields"}
        return _goes_below(value, MOST_LEVELS) or _goes_below({**value, "metadata": metadata}, MAX_DEPTH)
    return _goes_below(value, MAX_DEPTH)


def _goes_below(value: Any, levels: int) -> bool:
    """Whether a value has more levels than that. It is gone through level by level, with no recursion."""
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
