"""Parsing durations in Go's notation: ``90m``, ``1h30m``, ``1.5h``."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

__all__ = ("DurationError", "parse_duration")

_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.ASCII)
_MOST = 2**63 - 1


class DurationError(ValueError):
    """A text is not a valid duration."""


def parse_duration(text: str) -> timedelta:
    """
    Parse a duration. Parts of a microsecond are dropped.

    :raises DurationError: if it is not valid; the error has Go's text
    """
    rest, sign = text, 1
    if rest[:1] in ("+", "-"):
        sign = -1 if rest[0] == "-" else 1
        rest = rest[1:]
    if rest == "0":
        return timedelta()
    if not rest:
        raise DurationError(f'time: invalid duration "{text}"')
    nanoseconds = 0
    while rest:
        part = _PART.match(rest)
        if part is None or not (part[1] or part[2]):
            raise DurationError(f'time: invalid duration "{text}"')
        whole, fraction, unit = part[1], part[2] or "", part[3]
        if not unit:
            raise DurationError(f'time: missing unit in duration "{text}"')
        if unit not in _UNITS:
            raise DurationError(f'time: unknown unit "{unit}" in duration "{text}"')
        nanoseconds += int(Fraction(int(whole + fraction), 10 ** len(fraction)) * _UNITS[unit])
        if nanoseconds > _MOST:
            raise DurationError(f'time: invalid duration "{text}"')
        rest = rest[part.end() :]
    return timedelta(microseconds=sign * (nanoseconds // 1000))
