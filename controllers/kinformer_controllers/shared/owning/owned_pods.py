"""OwnedPods: adopts and releases the pods of an owner, and returns those that it owns."""

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

    :param kind: the owners' kind
    :param server: reads an owner from the API server, without a cache, before it adopts
    :param pods: the informer of pods; it gets an index by controller
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
        """Return a check that raises AdoptionError if the owner is gone or is being deleted."""
        meta = owner.metadata

        async def read_fresh() -> O:
            return await self._server.get(meta.name, meta.namespace)

        return recheck_deletion(read_fresh, meta.uid)

    async def claim(self, owner: Any, selector: Selector, *filters: Callable[[V1Pod], bool]) -> list[V1Pod]:
        """
        Adopt and release pods, and return those that the owner has then.

        :param filters: further conditions, besides the selector, for a pod to be claimed
        :raises ExceptionGroup: with an error for each pod that could not be adopted or released
        """
        # Owned pods and orphans are read in one step. Otherwise an adopted orphan could be found again as an owned pod.
        there = owned_by(self._pods, owner, self._kind.kind)
        manager: ControllerRefManager[V1Pod] = ControllerRefManager(
            owner, self._kind, selector, self._patch, self.may_adopt(owner)
        )
        return await manager.claim(there, *filters)
