"""Integers in texts that others have written: however long the text, it is an integer of 64 bits or none.

Python's own ``int`` raises a ValueError for more than 4,300 digits, which is a number to whoever only looked whether
there are digits.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ("read_integer", "read_unsigned")

_INTEGER: Final = re.compile(r"([+-]?)0*+([0-9]{1,20})?+", re.ASCII)


def read_integer(text: str) -> int | None:
    """What Go's ``ParseInt`` makes of a text in 64 bits; None where it fails."""
    value = _read(text)
    return value if value is not None and -(1 << 63) <= value < 1 << 63 else None


def read_unsigned(text: str) -> int | None:
    """What Go's ``ParseUint`` makes of a text in 64 bits; None where it fails."""
    value = _read(text) if text[:1] not in ("+", "-") else None
    return value if value is not None and value < 1 << 64 else None


def _read(text: str) -> int | None:
    found = _INTEGER.fullmatch(text)
    if found is None or text in ("", "+", "-"):
        return None
    value = int(found[2] or "0")
    return -value if found[1] == "-" else value
