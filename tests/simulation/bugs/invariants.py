"""What must hold after every write, whatever goes wrong, said of a custom resource and its children.

A check is called with what the server has stored, and raises AssertionError with a sentence if it does not hold. It
remembers what it has seen before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kinformer.models import resource_for
from kinformer.simulation.oracles import State
from tests.simulation.bugs.objects import NAMESPACE, Kind, is_going, name_of, uid_of

__all__ = ("Kept", "NeverLess")

Stored = Mapping[str, Any]


class Kept:
    """
    A child that a cluster has stays, for as long as the cluster asks for it.

    :param asked: the names of the children that a custom resource asks for
    :param is_right: whether a child is as the custom resource asks for it; one that is not may go
    """

    def __init__(
        self,
        kind: Kind,
        type_: type[Any],
        asked: Callable[[Stored], Iterable[str]],
        is_right: Callable[[Stored, Stored], bool] = lambda cluster, child: True,
    ) -> None:
        self._kind = kind
        self._type = type_
        self._asked = asked
        self._is_right = is_right
        self._had: set[tuple[str, str]] = set()

    def __call__(self, state: State) -> None:
        had, self._had = self._had, set()
        for cluster in of_kind(state, self._kind):
            if is_going(cluster):
                continue
            for name in self._asked(cluster):
                child = state.get(stored_name(self._type, name))
                known = uid_of(cluster), name
                if child is not None and _owner_uid(child) == uid_of(cluster) and not is_going(child):
                    if self._is_right(cluster, child):
                        self._had.add(known)
                elif known in had:
                    raise AssertionError(f"{name} is gone, which {self._kind.kind} {name_of(cluster)} asks for")


class NeverLess:
    """
    A number of a child never becomes smaller, because users have only raised it.

    :param number: of the child
    """

    def __init__(self, what: str, type_: type[Any], name: str, number: Callable[[Stored], int]) -> None:
        self._what = what
        self._name = stored_name(type_, name)
        self._number = number
        self._highest: int | None = None

    def __call__(self, state: State) -> None:
        child = state.get(self._name)
        if child is None:
            return
        number = self._number(child)
        if self._highest is not None and number < self._highest:
            raise AssertionError(f"{self._what} went from {self._highest} to {number}; nobody has asked for less")
        self._highest = number


def stored_name(type_: type[Any], name: str) -> str:
    """What the server's storage calls an object."""
    return f"{resource_for(type_).gvr.group_resource}/{NAMESPACE}/{name}"


def of_kind(state: State, kind: Kind) -> list[Stored]:
    """The custom resources of a kind, by name."""
    prefix = f"{kind.gvr.group_resource}/"
    return [obj for name, obj in sorted(state.objects().items()) if name.startswith(prefix)]


def _owner_uid(child: Stored) -> str | None:
    owners = child["metadata"].get("ownerReferences") or [{}]
    uid: str | None = owners[0].get("uid")
    return uid
