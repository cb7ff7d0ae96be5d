"""Parsing integers in annotations and statuses as Go does. Users may have written any text there."""

from __future__ import annotations

import re

__all__ = ("go_int",)

_NUMBER = re.compile(r"([+-]?)0*([0-9]+)", re.ASCII)
#: No number of 64 bits has more digits. Python's int() raises ValueError for a text of some thousand digits.
_MOST_DIGITS = 19


def go_int(text: str, bits: int = 64) -> int | None:
    """
    Parse a decimal integer as Go's ``strconv.ParseInt`` does.

    :return: None if the text is not an integer, or does not fit into that many bits
    """
    found = _NUMBER.fullmatch(text)
    if found is None or len(found[2]) > _MOST_DIGITS:
        return None
    number = int(found[1] + found[2])
    limit = 1 << (bits - 1)
    return number if -limit <= number < limit else None
