"""Durations as tables show them, in one or two units."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

__all__ = ("NONE", "in_short", "since")

NONE = "<none>"
_UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
#: The rows for times of less than so many seconds: the unit, its seconds, and the same of a smaller unit, if one is
#: shown after it.
_UNITS = (
    (120, "s", 1, "", 1),
    (10 * _MINUTE, "m", _MINUTE, "s", 1),
    (180 * _MINUTE, "m", _MINUTE, "", 1),
    (8 * _HOUR, "h", _HOUR, "m", _MINUTE),
    (48 * _HOUR, "h", _HOUR, "", 1),
    (8 * _DAY, "d", _DAY, "h", _HOUR),
    (730 * _DAY, "d", _DAY, "", 1),
    (8 * _YEAR, "y", _YEAR, "d", _DAY),
)


def since(text: Any, now: datetime) -> str:
    """
    The time since an event, as a table shows it.

    :param text: a time as objects have it
    """
    if not isinstance(text, str):
        return _UNKNOWN
    try:
        return in_short(now - datetime.fromisoformat(text.replace("Z", "+00:00")))
    except ValueError:
        return _UNKNOWN


def in_short(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    for until, unit, size, rest_unit, rest_size in _UNITS:
        if seconds < until:
            rest = seconds % size // rest_size if rest_unit else 0
            return f"{seconds // size}{unit}{f'{rest}{rest_unit}' if rest else ''}"
    return f"{seconds // _YEAR}y"
