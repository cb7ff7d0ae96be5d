"""OwnedPods: the pods of one owner, after adopting and releasing what has to be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from kinformer.cache import SharedIndexInformer
from kinformer.client import Resource
from kinformer.meta import GroupVersionKind, Selector
from kinformer.models import V1Pod
from kinformer_controllers.shared.owning.claim import ControllerRefManager, recheck_deletion
from kinformer_controllers.shared.owning.index import add_controller_index, owned_by

__all__ = ("OwnedPods",)

O = TypeVar("O")  # noqa: E741 - an owner


class OwnedPods(Generic[O]):
    """
    The pods of the owners of one kind.

    :param kind: what the owners are
    :param server: where an owner is read from, past every cache, before it adopts
    :param pods: gets an index by controller
    :param patch: applies a strategic merge patch to a pod: pod control's `patch`
    """

    def __init__(
        self,
        kind: GroupVersionKind,
        server: Resource[O],
        pods: SharedIndexInformer[V1Pod],
        patch: Callable[[str, str, dict[str, Any]], Awaitable[object]],
    ) -> None:
        add_controller_index(pods)
        self._kind = kind
        self._server = server
        self._pods = pods.indexer
        self._patch = patch

    def may_adopt(self, owner: Any) -> Callable[[], Awaitable[None]]:
        """A check that the owner is still there and not being deleted; it raises AdoptionError if not."""
        meta = owner.metadata

        async def read_fresh() -> O:
            return await self._server.get(meta.name, meta.namespace)

        return recheck_deletion(read_fresh, meta.uid)

    async def claim(self, owner: Any, selector: Selector, *filters: Callable[[V1Pod], bool]) -> list[V1Pod]:
        """
        The pods that are an owner's.

        :param filters: what a pod must pass, besides the selector, to be claimed
        :raises ExceptionGroup: with an error for each pod that could not be adopted or released
        """
        # All of them at one moment: what is adopted below must not be found a second time as a pod of its own.
        there = owned_by(self._pods, owner, self._kind.kind)
        manager: ControllerRefManager[V1Pod] = ControllerRefManager(
            owner, self._kind, selector, self._patch, self.may_adopt(owner)
        )
        return await manager.claim(there, *filters)
