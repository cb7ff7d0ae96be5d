"""Which controllers to run: kube-controller-manager's ``--controllers``.

A list of names decides, the first that says anything about a controller wins: ``name`` switches it on, ``-name`` off,
``*`` switches on all that are on by default.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ("UnknownControllerError", "select_controllers")


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
            f"want '*', or NAME or -NAME of {', '.join(self.known) or 'none, as no controllers are installed'}"
        )


def select_controllers(selection: Iterable[str], known: Iterable[str], off_by_default: Iterable[str] = ()) -> list[str]:
    """
    The names of the controllers to run, in the order of `known`.

    :param off_by_default: those of `known` that ``*`` does not switch on
    :raises UnknownControllerError: if `selection` names, or excludes, one that is not known
    """
    selection, known, off = list(selection), list(known), set(off_by_default)
    unknown = [name for name in selection if name != "*" and name.removeprefix("-") not in known]
    if unknown:
        raise UnknownControllerError([name.removeprefix("-") for name in unknown], known)
    return [name for name in known if _is_on(name, selection, off)]


def _is_on(name: str, selection: Sequence[str], off: set[str]) -> bool:
    for entry in selection:
        if entry.removeprefix("-") == name:
            return entry == name
    return "*" in selection and name not in off
