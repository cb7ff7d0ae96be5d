"""Figures: numbers as short texts for a column of a table."""

from __future__ import annotations

__all__ = ("ago", "count", "rate", "size", "span")

_UNKNOWN = "-"


def count(value: int) -> str:
    return f"{value:,}"


def rate(value: float | None) -> str:
    """A rate, in events a second."""
    if value is None:
        return _UNKNOWN
    if not value:
        return "0"
    return f"{value:.2f}" if value < 0.95 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def span(seconds: float | None) -> str:
    """A duration in seconds, as a number of about three digits and a unit."""
    if seconds is None:
        return _UNKNOWN
    if seconds <= 0:
        return "0"
    if seconds < 1e-3:
        return f"{max(seconds * 1e6, 1):.0f}us"
    if seconds < 1:
        return f"{seconds * 1e3:.{1 if seconds < 0.01 else 0}f}ms"
    for unit, length, until in (("s", 1, 120), ("m", 60, 7200), ("h", 3600, 172800)):
        if seconds < until:
            return f"{seconds / length:.{1 if seconds < 10 * length else 0}f}{unit}"
    return f"{seconds / 86400:.0f}d"


def ago(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    if seconds < 1:
        return "now"
    return f"{int(seconds)}s ago" if seconds < 120 else f"{span(seconds)} ago"


def size(value: int | None) -> str:
    """A number of bytes."""
    if value is None:
        return _UNKNOWN
    left = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if left < 1024:
            return f"{left:.{1 if left < 10 and unit != 'B' else 0}f}{unit}"
        left /= 1024
    return f"{left:.1f}TiB"
