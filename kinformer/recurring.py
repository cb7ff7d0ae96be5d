"""Strings that recur in many objects of a cache (labels' values, owners, node names, images), held once.

``sys.intern`` is not for these. An owner's uid is never seen again once its pods are gone, and CPython 3.12 never lets
go of what was interned: 110 bytes for each uid. In any version its table takes 60 bytes for each string that does not
recur. Here is a table with an end. Objects that have strings in common come close to each other in a list, which is in
the order of names, so the table is emptied when it is full: a string that recurs after that is held once more.

Any thread may call this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ("LIMIT", "make_room", "once")

#: Strings that are known at most: some 2 MB, if none recurs.
LIMIT: Final = 2**14

_known: Final[dict[str, str]] = {}

#: ``once(text, text)`` gives a string that is equal to `text`: the first that came. Call :func:`make_room` before some.
#: It is the dict's own method, for it takes as little as ``sys.intern``.
once: Final[Callable[[str, str], str]] = _known.setdefault


def make_room() -> None:
    """Forget all strings if there are too many; those that are in use are not affected."""
    if len(_known) >= LIMIT:
        _known.clear()
