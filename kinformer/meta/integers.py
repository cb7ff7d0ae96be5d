"""Integers in untrusted texts: a text of any length is either an integer of so many bits or not an integer.

Python's own ``int`` raises a ValueError for more than 4,300 digits. Code that has only checked that a text has digits
would not expect that.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ("read_integer", "read_unsigned")

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
