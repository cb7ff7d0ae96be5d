"""Switches: environment variables of client-go that turn a check on. Their values are read as by Go's ParseBool."""

from __future__ import annotations

import os
from typing import Final

__all__ = ("is_switched_on",)

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})


def is_switched_on(variable: str) -> bool:
    """Whether this environment variable is set to a true value."""
    return os.environ.get(variable, "") in _TRUE
