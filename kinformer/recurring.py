"""Recurring strings: stores strings that occur in many objects of a cache (label values, owners, node names) once.

``sys.intern`` is not suitable. An owner's uid does not occur again once its pods are gone, and CPython 3.12 never frees
an interned string: 110 bytes for each uid. In every version, its table takes 60 bytes for each string that does not
recur. The table here is limited. Objects that share strings are close to each other in a list, because lists are
ordered by name. So the table can be emptied when it is full. A string that recurs after that is stored once more.

Any thread may call this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ("LIMIT", "make_room", "once")

#: The most strings in the table: some 2 MB, if none recurs.
LIMIT: Final = 2**14

_known: Final[dict[str, str]] = {}

#: ``once(text, text)`` returns the stored string that is equal to `text`: the first one that came. Call
#: :func:`make_room` first. It is the dict's own method, because that is as fast as ``sys.intern``.
once: Final[Callable[[str, str], str]] = _known.setdefault


def make_room() -> None:
    """Empty the table if it is full. Strings that are in use are not affected."""
    if len(_known) >= LIMIT:
        _known.clear()
