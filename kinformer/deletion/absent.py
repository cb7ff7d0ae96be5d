"""Absent owners: remembers owners that do not exist, so that the server is asked once, not once for each dependent.

An owner that was once found absent stays absent, because no uid is used twice. Only the most recently used ones are
remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

__all__ = ("AbsentOwners", "Identity")


class Identity(NamedTuple):
    """
    The identity of an object, or of the object that a reference names.

    :param api_version: the group and version as in references: ``apps/v1``
    :param namespace: ``""`` for objects without a namespace
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """The same text as in Kubernetes' logs and Events."""
        return f"[{self.api_version}/{self.kind}, namespace: {self.namespace}, name: {self.name}, uid: {self.uid}]"


class AbsentOwners:
    """
    The most recently used identities that were found absent.

    :param size: the most identities that are remembered
    """

    __slots__ = ("_known", "_size")

    def __init__(self, size: int = 500) -> None:
        self._known: OrderedDict[Identity, None] = OrderedDict()
        self._size = size

    def add(self, identity: Identity) -> None:
        self._known[identity] = None
        self._known.move_to_end(identity)
        if len(self._known) > self._size:
            self._known.popitem(last=False)

    def __contains__(self, identity: Identity) -> bool:
        if identity not in self._known:
            return False
        self._known.move_to_end(identity)
        return True

    def __len__(self) -> int:
        return len(self._known)
