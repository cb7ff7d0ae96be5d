"""Claiming: a controller adopts what matches its selector and has no owner, and releases what no longer matches.

In: an owner, its selector, and objects from a cache. Out: the objects that the owner has, after the necessary patches.
Ownership is the owner reference with ``controller: true``; the server lets an object have only one. So two controllers
whose selectors overlap do not fight: the first one that adopts a pod has it.

Before the first adoption of a sync, the owner is read from the server. A cache may not show yet that the owner is being
deleted. The garbage collector would then delete what it adopts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from kinformer.cache import SharedIndexInformer
from kinformer.client import Resource
from kinformer.client.errors import Invalid, NotFound
from kinformer.controllerutil.owning import add_controller_index, owned_by
from kinformer.manager import SyncError
from kinformer.meta import (
    Accessor,
    GroupVersionKind,
    Selector,
    accessor_of,
    get_controller_of,
    is_controlled_by,
    new_controller_ref,
)
from kinformer.models import V1Pod, to_dict

__all__ = (
    "AdoptionError",
    "ControllerRefManager",
    "OwnedPods",
    "recheck_deletion",
)

T = TypeVar("T")
O = TypeVar("O")  # noqa: E741 - an owner


#: Applies a strategic merge patch: namespace, name, patch.
Patch = Callable[[str, str, dict[str, Any]], Awaitable[object]]


class AdoptionError(SyncError):
    """The controller may not adopt: it is being deleted, it is not the one it was, or that could not be found out."""


class ControllerRefManager(Generic[T]):
    """
    Adopts and releases the objects of one controller, during one sync of it.

    :param controller: the owner
    :param kind: what the owner is, for its reference
    :param selector: what it claims
    :param patch: applies a strategic merge patch to an object of the claimed kind: pod control's `patch`
    :param can_adopt: awaited once, before the first adoption; raises if there must be none
    :param finalizers: put on what is adopted, and taken from what is released
    """

    def __init__(
        self,
        controller: Any,
        kind: GroupVersionKind,
        selector: Selector,
        patch: Patch,
        can_adopt: Callable[[], Awaitable[object]],
        finalizers: Sequence[str] = (),
    ) -> None:
        self._controller = controller
        self._kind = kind
        self._accessor = accessor_of(controller)
        self._uid = self._accessor.uid(controller)
        self._selector = selector
        self._patch = patch
        self._can_adopt = can_adopt
        self._finalizers = list(finalizers)
        self._asked = False
        self._refused: Exception | None = None

    async def claim(self, objects: Iterable[T], *filters: Callable[[T], bool]) -> list[T]:
        """
        Adopt and release what has to be, and return what the controller owns then.

        :param filters: what an object must pass, besides the selector, to be claimed
        :raises ExceptionGroup: with an error for each object that could not be adopted or released
        """
        claimed: list[T] = []
        errors: list[Exception] = []
        accessor: Accessor[T] | None = None
        for obj in objects:
            accessor = accessor or accessor_of(obj)
            matches = self._selector.matches(accessor.labels(obj)) and all(wanted(obj) for wanted in filters)
            if matches and is_controlled_by(obj, self._uid):
                # What nearly all of them are, nearly always: nothing to ask, nothing to do.
                claimed.append(obj)
                continue
            try:
                if await self._claim(accessor, obj, matches):
                    claimed.append(obj)
            except Exception as error:  # whatever keeps one from being claimed, the others are to be
                errors.append(error)
        if errors:
            owner = f"{self._kind.kind} {self._accessor.name(self._controller)}"
            raise ExceptionGroup(f"{owner} could not claim all that it selects", errors)
        return claimed

    async def _claim(self, accessor: Accessor[T], obj: T, matches: bool) -> bool:
        """Whether the object is the controller's now."""
        is_ending = self._accessor.is_being_deleted(self._controller)
        namespace = self._accessor.namespace(self._controller)
        reference = get_controller_of(obj)
        if reference is not None:
            if reference.uid == self._uid and not matches and not is_ending:
                await self._release(accessor, obj)
            return matches and reference.uid == self._uid
        if is_ending or not matches or accessor.is_being_deleted(obj):
            return False
        if namespace and accessor.namespace(obj) != namespace:
            return False
        return await self._adopt(accessor, obj)

    async def _adopt(self, accessor: Accessor[T], obj: T) -> bool:
        """Whether it was still there to be adopted."""
        await self._check_may_adopt(accessor, obj)
        reference = to_dict(new_controller_ref(self._controller, self._kind))
        metadata: dict[str, Any] = {"ownerReferences": [reference], "uid": accessor.uid(obj)}
        if self._finalizers:
            metadata["finalizers"] = self._finalizers
        try:
            await self._patch(accessor.namespace(obj), accessor.name(obj), {"metadata": metadata})
        except NotFound:
            return False
        return True

    async def _release(self, accessor: Accessor[T], obj: T) -> None:
        metadata: dict[str, Any] = {
            "uid": accessor.uid(obj),
            "ownerReferences": [{"$patch": "delete", "uid": self._uid}],
        }
        if self._finalizers:
            metadata["$deleteFromPrimitiveList/finalizers"] = self._finalizers
        try:
            await self._patch(accessor.namespace(obj), accessor.name(obj), {"metadata": metadata})
        except (NotFound, Invalid):
            # It is gone, or another one of its name is there, or it has no owner any more: nothing is left to release.
            return

    async def _check_may_adopt(self, accessor: Accessor[T], obj: T) -> None:
        if not self._asked:
            self._asked = True
            try:
                await self._can_adopt()
            except Exception as error:  # whatever it is, it holds for all objects of this sync
                self._refused = error
        if self._refused is not None:
            raise AdoptionError(
                f"can't adopt {type(obj).__name__} {accessor.key(obj)} ({accessor.uid(obj)}): {self._refused}"
            ) from self._refused


def recheck_deletion(read_fresh: Callable[[], Awaitable[Any]], uid: str) -> Callable[[], Awaitable[None]]:
    """
    A `can_adopt` that reads the controller from the server, past every cache.

    :param read_fresh: reads the controller. If it raises, nothing is adopted
    :param uid: the controller's uid. A new object of the same name has another one and adopts nothing
    """

    async def check() -> None:
        fresh = await read_fresh()
        accessor = accessor_of(fresh)
        if accessor.uid(fresh) != uid:
            raise AdoptionError(
                f"the original {accessor.key(fresh)} is gone: got uid {accessor.uid(fresh)}, want {uid}"
            )
        if accessor.is_being_deleted(fresh):
            raise AdoptionError(f"{accessor.key(fresh)} has just been deleted at {_deleted_at(accessor, fresh)}")

    return check


def _deleted_at(accessor: Accessor[Any], obj: Any) -> Any:
    return accessor.field(obj, "deletionTimestamp")


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
