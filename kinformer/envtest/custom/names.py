"""The names of custom resources: each is one definition's own among those of its group, first come, first served."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

__all__ = ("Accepted", "accept_names")

Names = Mapping[str, Any]


class Accepted(NamedTuple):
    """
    What a definition gets.

    :param names: the names that are its own
    :param reason: why it does not have all that it wants; empty, if it does
    """

    names: dict[str, Any]
    reason: str = ""
    message: str = ""


def accept_names(wanted: Names, own: Names, resources: Collection[str], kinds: Collection[str]) -> Accepted:
    """
    :param own: the names that the definition has already
    :param resources: what resources of the group are called, in the plural, the singular and for short
    :param kinds: what their kinds and lists are called
    """
    names, reason, message = dict(own), "", ""
    for field, taken in (
        ("plural", resources),
        ("singular", resources),
        ("shortNames", resources),
        ("kind", kinds),
        ("listKind", kinds),
    ):
        name, mine = wanted.get(field), own.get(field)
        several = field == "shortNames"
        asked = (name or []) if several else [name] if name else []
        held = (mine or []) if several else [mine]
        wrong = [f'"{one}" is already in use' for one in asked if one not in held and one in taken]
        if wrong:
            reason = f"{field[0].upper()}{field[1:]}Conflict"
            message = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
        elif name:
            names[field] = name
        elif several:
            names.pop(field, None)
    names.pop("categories", None)
    if wanted.get("categories"):
        names["categories"] = wanted["categories"]
    return Accepted(names, reason, message)
