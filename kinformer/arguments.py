"""Checks of what users pass: what a type checker refuses is one error that names the argument and what to pass.

Without such a check a text is taken for the list of its letters, and a wrong object is noticed only where somebody uses
it, in words that mean nothing to its author.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ("want", "want_several", "want_text")


def want(given: object, is_right: bool, name: str, instead: str) -> None:
    """
    Check an argument.

    :param is_right: whether it can be used
    :param name: what the argument is, in the author's words
    :param instead: what to pass, for example ``LeaderElection(…)``
    :raises TypeError: if it cannot be used
    """
    if not is_right:
        shown = getattr(given, "__qualname__", None) or repr(given)
        raise TypeError(f"{name} is {shown}: want {instead}")


def want_several(given: object, name: str, instead: str) -> None:
    """
    Check that an argument is a collection, and not one thing.

    :raises TypeError: if it is a text, or no collection
    """
    want(given, isinstance(given, Iterable) and not isinstance(given, (str, bytes, type)), name, instead)


def want_text(given: object, name: str, instead: str) -> None:
    """
    Check that an argument is a text.

    :raises TypeError: if it is not
    """
    want(given, isinstance(given, str), name, instead)
