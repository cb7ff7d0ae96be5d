"""Installed: what the installed packages offer, by the group of their entry points.

Python reads the files of all packages for each such question, which takes 5 ms of CPU. A start asks six times, so they
are read once. A package that is installed later is found by the next process.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

__all__ = ("installed",)

_all = cache(entry_points)


def installed(group: str) -> list[EntryPoint]:
    """The entry points of a group, in the order of their names."""
    return sorted(_all().select(group=group), key=lambda entry: entry.name)
