"""Modules that the user names: they need not be installed."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ("search_here",)


def search_here() -> None:
    """Import modules from the current folder, too, as ``python -m`` does. A second call has no effect."""
    try:
        here = str(Path.cwd())
    except FileNotFoundError:  # it was deleted, so there is nothing to import from
        return
    if here not in sys.path:
        sys.path.insert(0, here)
