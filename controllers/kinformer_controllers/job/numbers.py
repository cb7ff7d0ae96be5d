"""Numbers in annotations and in texts of a status, read as Go reads them: others may have written there."""

from __future__ import annotations

import re

__all__ = ("go_int",)

_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def go_int(text: str) -> int | None:
    """The number, None if the text is none that 64 bits can hold."""
    if _NUMBER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
