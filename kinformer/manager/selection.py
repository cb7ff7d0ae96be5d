"""Which controllers to run: kube-controller-manager's ``--controllers``, and one word more.

A list of names decides, the first that says anything about a controller wins: ``name`` switches it on, ``-name`` off.
``*`` switches on all others, and ``builtin`` kinformer's own, which a cluster has already: ``*`` leaves those alone.
A controller of kube-controller-manager is meant by its long name and by its short one (:mod:`kinformer.manager.names`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kinformer.manager.names import find_name

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
    known, own = list(known), set(builtin)
    entries: list[str] = []
    unknown: list[str] = []
    for entry in selection:
        name = entry.removeprefix("-")
        found = name if entry in _WORDS else find_name(name, known)
        if found is None:
            unknown.append(name)
        else:
            entries.append(f"-{found}" if entry.startswith("-") else found)
    if unknown:
        raise UnknownControllerError(unknown, known)
    return [name for name in known if _is_on(name, entries, BUILTIN if name in own else "*")]


def _is_on(name: str, selection: Sequence[str], word: str) -> bool:
    for entry in selection:
        if entry.removeprefix("-") == name:
            return entry == name
    return word in selection
