"""Which controllers to run: kube-controller-manager's ``--controllers``, with one more word.

The selection is a list of names. ``name`` switches a controller on, ``-name`` switches it off. If both are in the list,
the first one counts. ``builtin`` switches on all built-in controllers. ``*`` switches on all controllers except the
built-in ones, because a cluster usually runs those already. A controller of kube-controller-manager may be given by its
long or its short name (:mod:`kinformer.manager.names`).
A controller that is off by default runs only if it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from kinformer.arguments import want_several
from kinformer.manager.names import find_name

__all__ = ("BUILTIN", "UnknownControllerError", "select_controllers")

#: Stands for all built-in controllers: those that kube-controller-manager has as well.
BUILTIN = "builtin"

_WORDS = ("*", BUILTIN)
#: An error shows no more than these of the known names.
_SHOWN = 10


class UnknownControllerError(ValueError):
    """
    A selected controller is not known.

    :param names: the names that are not known
    :param known: the names that are known
    """

    def __init__(self, names: Sequence[str], known: Iterable[str]) -> None:
        self.names = tuple(names)
        self.known = tuple(sorted(known))
        plural = "s" if len(self.names) > 1 else ""
        alike = [name for unknown in self.names for name in get_close_matches(unknown, self.known, 1)]
        text = f"unknown controller{plural} {', '.join(repr(name) for name in self.names)}"
        if any({".", "/"} & set(name) for name in self.names):
            super().__init__(f"{text}: want MODULE:NAME for one that is not installed, as in shop.app:Shops")
            return
        if len(alike) == len(self.names):
            super().__init__(f"{text}: did you mean {', '.join(alike)}?")
            return
        more = f" and {len(self.known) - _SHOWN} more" if len(self.known) > _SHOWN else ""
        super().__init__(
            f"{text} (is the package installed that has it?): want '*', '{BUILTIN}', or NAME or -NAME of "
            f"{', '.join(self.known[:_SHOWN]) or 'none, as no controllers are installed'}{more}"
        )


def select_controllers(
    selection: Iterable[str],
    known: Iterable[str],
    builtin: Iterable[str] = (),
    is_off: Callable[[str], bool] = lambda name: False,
) -> list[str]:
    """
    Return the names of the controllers to run, in the order of `known`.

    :param selection: names, ``-name``, ``builtin`` or ``*``
    :param known: the names of all controllers
    :param builtin: those of `known` that ``builtin`` switches on, and ``*`` does not
    :param is_off: tells which controllers neither word switches on: they run only if they are named
    :raises UnknownControllerError: if `selection` has a name that is not known, with or without a dash
    """
    want_several(selection, "controllers", "a list of names, as in controllers=['web']")
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
    return [name for name in known if _is_on(name, entries, BUILTIN if name in own else "*", is_off)]


def _is_on(name: str, selection: Sequence[str], word: str, is_off: Callable[[str], bool]) -> bool:
    for entry in selection:
        if entry.removeprefix("-") == name:
            return entry == name
    return word in selection and not is_off(name)
