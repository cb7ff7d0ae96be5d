"""Server-side apply under one field manager, without a request for what is as it should be.

An operator says each time it syncs what its objects are to be, whole. :class:`Applier` sends that to the server as an
apply patch, which changes the fields that are named, takes away those that the operator named the last time and does
not name now, and leaves the fields of others alone.

Most of the time nothing is to be done. So the applier remembers what it applied last and what the server made of it,
and sends nothing while it is asked for the same and the cache shows the object just so, its status and version aside.
That needs an informer of the kind, as a controller that watches what it owns has; without one every apply is a request.
Where the cache is behind, or a process has just started, an apply too many is sent, and none too few.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, TypeVar

from kinformer.client import Client, NotFound, Resource
from kinformer.informers import SharedInformerFactory
from kinformer.meta import GroupVersionKind, GroupVersionResource, accessor_of, get_controller_of
from kinformer.models import encode
from kinformer.operator.changes import Outcome, Written, changed_fields, comparable
from kinformer.operator.identity import resource_of
from kinformer.operator.owning import AlreadyOwned, set_controller_reference

__all__ = ("Applier",)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Applied:
    """What was asked for the last time, and the object that came of it."""

    wanted: bytes
    uid: str
    result: dict[str, Any]


class Applier:
    """
    Applies objects under one name.

    :param field_manager: the name, which has to stay the same between restarts and versions of the operator
    :param informers: whose caches say what is there; None: the server is asked each time
    """

    def __init__(self, client: Client, field_manager: str, informers: SharedInformerFactory | None = None) -> None:
        if not field_manager:
            raise ValueError("the field manager has no name: want one such as 'webapp-operator'")
        self.field_manager = field_manager
        self._client = client
        self._informers = informers
        self._applied: dict[tuple[GroupVersionResource, str], _Applied] = {}

    async def apply(self, obj: T, *, force: bool = True) -> Written[T]:
        """
        Have these fields so; create the object if there is none.

        :param obj: the fields that are wanted: a model, a custom resource, or a dict. Nothing else of it is changed
        :param force: take over fields that others manage, as controllers do; else they are a conflict
        :return: the object, and what changed. Where somebody else wrote at the same time, what they changed counts, too
        :raises Conflict: if others manage some of the fields, and `force` is not set
        :raises Invalid: if the server refuses the object
        """
        resource = await resource_of(self._client, obj)
        key = accessor_of(obj).key(obj)
        wanted = encode(obj)
        last = self._applied.get((resource.gvr, key))
        cached = self._cached(resource, key)
        if last is not None and cached is not None and last.wanted == wanted and _same(cached, last):
            return Written(cached, Outcome.UNCHANGED)
        before = cached if cached is not None else await _there(resource, obj)
        after: T = await resource.apply(obj, field_manager=self.field_manager, force=force)
        self._applied[resource.gvr, key] = _Applied(wanted, accessor_of(after).uid(after), comparable(after))
        if before is None:
            return Written(after, Outcome.CREATED)
        fields = changed_fields(before, after)
        return Written(after, Outcome.UPDATED if fields else Outcome.UNCHANGED, fields)

    async def ensure_owned(
        self, owner: Any, obj: T, *, gvk: GroupVersionKind | None = None, force: bool = True
    ) -> Written[T]:
        """
        Apply an object that belongs to `owner`: it goes with its owner, and its changes wake the owner's sync where the
        controller watches its kind with ``watch_owned``.

        :param owner: as the server has it; `obj` gets its namespace, if it has none
        :param gvk: what kind `owner` is, where its type does not tell
        :raises AlreadyOwned: if the object is there, and another one is its controller
        :raises ValueError: if it is to be in another namespace than its owner
        """
        owned = copy.deepcopy(obj)
        set_controller_reference(owner, owned, gvk)
        resource = await resource_of(self._client, owned)
        accessor = accessor_of(owned)
        there = self._cached(resource, accessor.key(owned))
        if there is None:
            there = await _there(resource, owned)
        if there is not None and (current := get_controller_of(there)) is not None:
            owners = accessor_of(owner)
            if current.uid != owners.uid(owner):
                raise AlreadyOwned(
                    f"{resource.gvr.group_resource} {accessor.key(owned)} is controlled by {current.kind} "
                    f"{current.name}: it cannot belong to {owners.key(owner)} as well"
                )
        return await self.apply(owned, force=force)

    def forget(self, obj: Any) -> None:
        """Remember nothing of an object any more: for one that is gone for good."""
        key = accessor_of(obj).key(obj)
        for applied in [applied for applied in self._applied if applied[1] == key]:
            del self._applied[applied]

    def _cached(self, resource: Resource[Any], key: str) -> Any:
        informer = self._informers.informers.get(resource.gvr) if self._informers is not None else None
        # Objects with some of the fields only cannot be compared with what an apply answers.
        if informer is None or not informer.has_synced or informer.type is not resource.type:
            return None
        return informer.indexer.get_by_key(key)


async def _there(resource: Resource[Any], obj: Any) -> Any:
    name = accessor_of(obj).object_name(obj)
    try:
        return await resource.get(name.name, name.namespace)
    except NotFound:
        return None


def _same(cached: Any, last: _Applied) -> bool:
    """Whether an object is what came of an apply, but for what the server keeps by itself."""
    return accessor_of(cached).uid(cached) == last.uid and comparable(cached) == last.result
