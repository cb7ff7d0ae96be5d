"""Owners that are known not to be there, so that the server is asked once for an owner and not once for each dependent.

What was once found absent stays so, as no uid is given twice. Only so many are remembered, those asked for last.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

__all__ = ("AbsentOwners", "Identity")


class Identity(NamedTuple):
    """
    Which object a reference means, or an object is.

    :param api_version: with the group, as references have it: ``apps/v1``
    :param namespace: ``""`` for what belongs to none
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """As Kubernetes has it in logs and Events."""
        return f"[{self.api_version}/{self.kind}, namespace: {self.namespace}, name: {self.name}, uid: {self.uid}]"


class AbsentOwners:
    """
    The last identities that were found absent.

    :param size: how many are remembered
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
