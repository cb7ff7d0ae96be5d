"""Verdict: decides about an object after each of its owners was looked up.

An object without owners stays. An owner is *solid* if it exists and is not waiting for its dependents. It is *waiting*
if it is being deleted and waits for its dependents. It is *dangling* if it does not exist. One solid owner keeps an
object; without any the object is deleted. The rules are those of kube-controller-manager.
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
    """The state of an owner, as far as its dependents are concerned."""

    SOLID = enum.auto()
    WAITING = enum.auto()
    DANGLING = enum.auto()


@dataclass(frozen=True, slots=True)
class Keep:
    """
    The object stays.

    :param disown: uids of owners to remove from its references. Otherwise those that wait would wait for ever.
    """

    disown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Delete:
    """
    The object is deleted.

    :param propagation: what happens to its own dependents
    :param unblock: before that, unset blockOwnerDeletion in its references, because the owners may form a circle
    """

    propagation: Propagation
    unblock: bool = False


Verdict = Keep | Delete

KEEP: Final = Keep()


def judge(node: Node, finalizers: Collection[str], owners: Iterable[tuple[str, Standing]]) -> Verdict:
    """
    Decide about an object.

    :param node: the object, with its dependents
    :param finalizers: the object's present finalizers
    :param owners: the uid and the state of each owner that it names now
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
        # A waiting dependent may in turn wait for this object, through others. Then the owners must not wait for it.
        return Delete("Foreground", unblock=any(dependent.is_waiting for dependent in node.dependents))
    if ORPHAN in finalizers:
        return Delete("Orphan")
    return Delete("Foreground" if FOREGROUND in finalizers else "Background")
