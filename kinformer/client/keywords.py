"""Keyword arguments that are declared once, in a TypedDict, and taken by several functions.

A type checker refuses a name that the TypedDict does not have. Python itself takes any name there. So each function
that takes such arguments checks them.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ("check_names",)


def check_names(given: Mapping[str, object], declared: type) -> None:
    """
    Refuse misspelt keyword arguments, as Python does for those that a function names.

    :param declared: a TypedDict
    :raises TypeError: for a name that it does not have
    """
    known = declared.__annotations__
    for name in given:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}: want some of {', '.join(known)}")
