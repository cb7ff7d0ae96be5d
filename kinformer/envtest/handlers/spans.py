"""Durations as tables show them, in one or two units."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

__all__ = ("NONE", "age_of", "in_short", "since")

NONE = "<none>"
_UNKNOWN = "<unknown>"


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


def age_of(obj: dict[str, Any], now: datetime) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def in_short(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours = seconds // 60, seconds // 3600
    days = hours // 24
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    return _two(days // 365, "y", days % 365 if days < 8 * 365 else 0, "d")


def _two(much: int, unit: str, rest: int, rest_unit: str) -> str:
    return f"{much}{unit}{rest}{rest_unit}" if rest else f"{much}{unit}"
