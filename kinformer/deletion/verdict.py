"""Verdict: what becomes of an object whose owners were looked at, one by one.

An object without owners stays. An owner is *solid* if it is there to stay, *waiting* if it is being deleted and waits
for its dependents to go, and *dangling* if there is none. One solid owner keeps an object; without any it is deleted.
The rules are those of kube-controller-manager.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from kinformer.deletion.graph import Node
from kinformer.deletion.heads import FOREGROUND, ORPHAN

__all__ = ("KEEP", "Delete", "Keep", "Propagation", "Standing", "Verdict", "judge")

Propagation = Literal["Orphan", "Background", "Foreground"]


class Standing(enum.Enum):
    """How an owner stands to what depends on it."""

    SOLID = enum.auto()
    WAITING = enum.auto()
    DANGLING = enum.auto()


@dataclass(frozen=True, slots=True)
class Keep:
    """
    The object stays.

    :param disown: uids of owners that it is to name no longer; those that wait would wait for ever otherwise
    """

    disown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Delete:
    """
    The object is deleted.

    :param propagation: what becomes of its own dependents
    :param unblock: first, let none of its references hold up an owner's deletion: the owners may go in a circle
    """

    propagation: Propagation
    unblock: bool = False


Verdict = Keep | Delete

KEEP: Final = Keep()


def judge(node: Node, finalizers: Collection[str], owners: Iterable[tuple[str, Standing]]) -> Verdict:
    """
    :param node: the object, with its dependents
    :param finalizers: the object's own, as they are now
    :param owners: the uid of each owner that it names now, and how that one stands
    """
    owned = solid = False
    dangling: list[str] = []
    waiting: list[str] = []
    for uid, standing in owners:
        owned = True
        match standing:
            case Standing.SOLID:
                solid = True
            case Standing.WAITING:
                waiting.append(uid)
            case Standing.DANGLING:
                dangling.append(uid)
    if not owned:
        return KEEP
    if solid:
        return Keep((*dangling, *waiting)) if dangling or waiting else KEEP
    if waiting and node.dependents:
        # A dependent that waits itself may, over others, wait for this one. The owners wait for nobody then.
        return Delete("Foreground", unblock=any(dependent.is_waiting for dependent in node.dependents))
    if ORPHAN in finalizers:
        return Delete("Orphan")
    return Delete("Foreground" if FOREGROUND in finalizers else "Background")
