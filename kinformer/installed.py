"""Installed: what the installed packages offer, by the group of their entry points, and modules that a user names.

Python reads the files of all packages for each such question, which takes 5 ms of CPU. A start asks six times, so they
are read once. A package that is installed later is found by the next process.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import PurePath

__all__ = ("installed", "module_of_path")

_all = cache(entry_points)


def installed(group: str) -> list[EntryPoint]:
    """The entry points of a group, in the order of their names."""
    return sorted(_all().select(group=group), key=lambda entry: entry.name)


def module_of_path(place: str) -> str:
    """
    The module that a path means, with the rest of the text: ``shop.app:Shops`` for ``./shop/app.py:Shops``.

    :param place: a module or a path, perhaps with ``:NAME``
    :return: empty if it is not a path
    """
    path, colon, name = place.partition(":")
    if "/" not in path and not path.endswith(".py"):
        return ""
    parts = [part for part in PurePath(path).with_suffix("").parts if part.isidentifier()]
    return f"{'.'.join(parts)}{colon}{name}"
