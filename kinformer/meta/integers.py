"""Untrusted integers: those in texts, and numbers of seconds.

A text of any length is either an integer of so many bits or not an integer. Python's own ``int`` raises a ValueError
for more than 4,300 digits. Code that has only checked that a text has digits would not expect that.

A field of 64 bits may hold more seconds than Python's ``timedelta`` can.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

__all__ = ("duration_of", "read_integer", "read_unsigned")

_INTEGER: Final = re.compile(r"([+-]?)0*+([0-9]{1,20})?+", re.ASCII)


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
