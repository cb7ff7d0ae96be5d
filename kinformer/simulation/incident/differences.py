"""Differences: what a replay does in another way than the recording.

Bodies are compared as JSON. Times that are less than :data:`SECONDS` apart count as the same, because code takes no
time in a replay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec

__all__ = ("SECONDS", "Difference", "Kind", "body_differences")

SECONDS: Final = 5.0

#: A request that one of the two did not make; the body of a request; the order of requests or of syncs; the result.
Kind: TypeAlias = Literal["request", "body", "order", "result"]

_SHOWN: Final = 120
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """
    One difference.

    :param at: the time in the recording, in seconds from its beginning
    :param sync: the number of the recorded sync; 0 if the recording has no such sync
    """

    at: float
    controller: str
    key: str
    sync: int
    kind: Kind
    text: str

    def __str__(self) -> str:
        return f"{self.at:10.3f}  {self.controller} {self.key}: {self.text}"


def body_differences(recorded: bytes, now: bytes) -> list[str]:
    """How two bodies differ: a line for each field."""
    if recorded == now:
        return []
    try:
        return list(_compare("", msgspec.json.decode(recorded), msgspec.json.decode(now)))
    except msgspec.MsgspecError:
        return ["the body is another one"]


def _compare(path: str, recorded: Any, now: Any) -> Iterator[str]:
    if isinstance(recorded, dict) and isinstance(now, dict):
        for name in [*recorded, *(name for name in now if name not in recorded)]:
            yield from _compare(f"{path}.{name}" if path else name, recorded.get(name, _ABSENT), now.get(name, _ABSENT))
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for place, (one, other) in enumerate(zip(recorded, now, strict=True)):
            yield from _compare(f"{path}[{place}]", one, other)
    elif recorded != now and not _are_near(recorded, now):
        yield f"{path or 'the body'} was {_shown(recorded)}, and is {_shown(now)}"


def _are_near(recorded: Any, now: Any) -> bool:
    """Whether both are times, and nearly the same."""
    if not (isinstance(recorded, str) and isinstance(now, str)):
        return False
    try:
        one, other = datetime.fromisoformat(recorded), datetime.fromisoformat(now)
        return abs((one - other).total_seconds()) < SECONDS
    except (ValueError, TypeError):
        return False


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
