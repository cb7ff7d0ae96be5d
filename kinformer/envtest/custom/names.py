"""The names of custom resources. A name belongs to one definition of a group: to the first that asks for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

__all__ = ("Accepted", "accept_names")

Names = Mapping[str, Any]


class Accepted(NamedTuple):
    """
    The names that a definition is given.

    :param names: the names that it has
    :param reason: why it does not have all the names that it asks for. Empty if it has all of them
    """

    names: dict[str, Any]
    reason: str = ""
    message: str = ""


def accept_names(wanted: Names, own: Names, resources: Collection[str], kinds: Collection[str]) -> Accepted:
    """
    Decide which names a definition is given.

    :param own: the names that the definition already has
    :param resources: the plural, singular and short names that are in use in the group
    :param kinds: the kinds and list kinds that are in use in the group
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
