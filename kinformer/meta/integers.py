"""Untrusted integers: those in texts, numbers of seconds, and percentages.

A text of any length is either an integer of so many bits or not an integer. Python's own ``int`` raises a ValueError
for more than 4,300 digits. Code that has only checked that a text has digits would not expect that.

A field of 64 bits may hold more seconds than Python's ``timedelta`` can. A field such as ``maxUnavailable`` is a number
or a percentage; models and dicts hold it as the int or the text of the API.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from functools import lru_cache
from typing import Final

__all__ = ("duration_of", "read_integer", "read_unsigned", "scaled_value")

_INTEGER: Final = re.compile(r"([+-]?)0*+([0-9]{1,20})?+", re.ASCII)
_PERCENT: Final = re.compile(r"([+-]?[0-9]+)%", re.ASCII)

#: Longer texts are not remembered: an object of the API may have a percentage of a megabyte.
_SHORT: Final = 16


def read_integer(text: str, bits: int = 64) -> int | None:
    """Parse a decimal text as Go's ``strconv.ParseInt`` does with that many bits; None where that fails."""
    value, limit = _read(text), 1 << (bits - 1)
    return value if value is not None and -limit <= value < limit else None


def read_unsigned(text: str) -> int | None:
    """Parse a text as Go's ``ParseUint`` does with 64 bits; None where that fails."""
    value = _read(text) if text[:1] not in ("+", "-") else None
    return value if value is not None and value < 1 << 64 else None


def _read(text: str) -> int | None:
    found = _INTEGER.fullmatch(text)
    if found is None or text in ("", "+", "-"):
        return None
    value = int(found[2] or "0")
    return -value if found[1] == "-" else value


def duration_of(seconds: int) -> timedelta:
    """
    A number of seconds as Go's ``time.Duration``, which is a number of nanoseconds in 64 bits. A longer time wraps
    around, also to a negative one, as it does in Kubernetes. No result is beyond 292 years.
    """
    nanoseconds = (seconds * 10**9 + 2**63) % 2**64 - 2**63
    return timedelta(microseconds=nanoseconds // 1000)


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """
    Return `value` itself if it is an int, or that percentage of `total` if it is a text like ``25%``.

    The rule is apimachinery's GetScaledValueFromIntOrPercent, including its arithmetic in 64-bit floats.

    :param round_up: whether a result that is not a whole number is rounded up
    :raises ValueError: if the text is not an integer followed by ``%``
    """
    if isinstance(value, int):
        return value
    percentage = (_remembered if len(value) <= _SHORT else _percentage)(value) if isinstance(value, str) else None
    if percentage is None:
        raise ValueError(f"{value!r} is neither an integer nor a percentage like '25%'")
    share = float(percentage) * float(total) / 100
    return math.ceil(share) if round_up else math.floor(share)


def _percentage(text: str) -> int | None:
    match = _PERCENT.fullmatch(text)
    return read_integer(match[1]) if match is not None else None


# The objects of a cluster have few different percentages, and each sync of a Deployment reads its own several times.
_remembered = lru_cache(maxsize=128)(_percentage)
