"""Which controllers to run: kube-controller-manager's ``--controllers``, and one word more.

A list of names decides, the first that says anything about a controller wins: ``name`` switches it on, ``-name`` off.
``*`` switches on all others, and ``builtin`` kinformer's own, which a cluster has already: ``*`` leaves those alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ("BUILTIN", "UnknownControllerError", "select_controllers")

#: Stands for all controllers that kube-controller-manager has as well.
BUILTIN = "builtin"

_WORDS = ("*", BUILTIN)


class UnknownControllerError(ValueError):
    """
    A controller was asked for that is not known.

    :param names: those that nobody knows
    :param known: those that are known
    """

    def __init__(self, names: Sequence[str], known: Iterable[str]) -> None:
        self.names = tuple(names)
        self.known = tuple(sorted(known))
        plural = "s" if len(self.names) > 1 else ""
        super().__init__(
            f"unknown controller{plural} {', '.join(repr(name) for name in self.names)}: "
            f"want '*', '{BUILTIN}', or NAME or -NAME of "
            f"{', '.join(self.known) or 'none, as no controllers are installed'}"
        )


def select_controllers(selection: Iterable[str], known: Iterable[str], builtin: Iterable[str] = ()) -> list[str]:
    """
    The names of the controllers to run, in the order of `known`.

    :param builtin: those of `known` that the word ``builtin`` switches on, and ``*`` does not
    :raises UnknownControllerError: if `selection` names, or excludes, one that is not known
    """
    selection, known, own = list(selection), list(known), set(builtin)
    unknown = [name for name in selection if name not in _WORDS and name.removeprefix("-") not in known]
    if unknown:
        raise UnknownControllerError([name.removeprefix("-") for name in unknown], known)
    return [name for name in known if _is_on(name, selection, BUILTIN if name in own else "*")]


def _is_on(name: str, selection: Sequence[str], word: str) -> bool:
    for entry in selection:
        if entry.removeprefix("-") == name:
            return entry == name
    return word in selection
