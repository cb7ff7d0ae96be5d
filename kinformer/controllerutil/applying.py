"""Server-side apply under one field manager, without requests for objects that are already as wanted.

In each sync, an operator gives the complete wanted state of its objects. :class:`Applier` sends it to the server as an
apply patch. The server sets the fields in the patch. It removes fields that the operator applied the last time and that
are not in this patch. It does not change the fields of other field managers.

Most of the time, nothing has to change. So the applier remembers the last patch and the resulting object. It sends no
request if the same patch is wanted again and the cache shows the resulting object unchanged (except for its status and
version). This needs an informer for the kind, which a controller that watches its owned objects has. Without an
informer, every apply is a request. If the cache is behind, or the process has just started, an unnecessary request may
be sent. A necessary request is never left out.

The result is :class:`Written`: whether the object was created or updated, and which fields changed. So a log line or an
Event can say what was done.
"""

from __future__ import annotations

import copy
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from kinformer.arguments import want_client, want_text
from kinformer.client import Client, NotFound, Resource
from kinformer.controllerutil.owning import AlreadyOwned, set_controller_reference
from kinformer.informers import SharedInformerFactory
from kinformer.meta import GroupVersionKind, GroupVersionResource, accessor_of, get_controller_of
from kinformer.models import Model, encode, to_dict

__all__ = (
    "Applier",
    "Outcome",
    "Written",
    "changed_fields",
    "equal",
)

T = TypeVar("T")


#: The fields of the metadata that the server sets.
_KEPT_BY_SERVER: Final = frozenset(
    ("resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "selfLink")
)


class Outcome(enum.Enum):
    """Whether a write created or changed the object."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Written(Generic[T]):
    """
    An object after a write, and what the write changed.

    :ivar object: the object, as the server returned it
    :ivar outcome: whether it was created or changed
    :ivar fields: the paths of the fields that changed, such as ``spec.replicas``; empty for a new object
    """

    object: T
    outcome: Outcome
    fields: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the object was created or updated."""
        return self.outcome is not Outcome.UNCHANGED


def changed_fields(before: Any, after: Any) -> tuple[str, ...]:
    """
    Return the sorted paths of the fields in which two objects differ. A list counts as one field.

    The status is ignored, and so are the metadata fields that the server sets: the versions, the UID, the creation
    timestamp and the managed fields.
    """
    return tuple(sorted(_differences(comparable(before), comparable(after), "")))


def equal(one: Any, other: Any) -> bool:
    """Whether two objects, or parts of them, are the same JSON. In Python, ``1`` and ``True`` are equal, too."""
    return bool(one == other) and _has_same_bools(one, other)


def _has_same_bools(one: Any, other: Any) -> bool:
    """Whether two values that Python takes for equal have their booleans in the same places."""
    if isinstance(one, Mapping):
        return all(_has_same_bools(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return all(map(_has_same_bools, one, other))
    if isinstance(one, msgspec.Struct) and not isinstance(one, Model):  # the types of a model's fields are known
        return all(_has_same_bools(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    return isinstance(one, bool) is isinstance(other, bool)


def comparable(obj: Any) -> dict[str, Any]:
    """An object as a dict, without its status and the metadata fields that the server sets."""
    plain = dict(obj) if isinstance(obj, Mapping) else to_dict(obj)
    plain.pop("status", None)
    metadata = plain.get("metadata") or {}
    plain["metadata"] = {name: value for name, value in metadata.items() if name not in _KEPT_BY_SERVER}
    return plain


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    if equal(before, after):
        return
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        yield path
        return
    for name in before.keys() | after.keys():
        yield from _differences(before.get(name), after.get(name), f"{path}.{name}" if path else str(name))


@dataclass(frozen=True, slots=True)
class _Applied:
    """The last patch that was applied, and the resulting object."""

    wanted: bytes
    uid: str
    result: dict[str, Any]


class Applier:
    """
    Applies objects under one field manager.

    :param client: for the requests
    :param field_manager: the name of the field manager. It must stay the same in all restarts and versions of the
        operator
    :param informers: their caches are used to avoid requests; None: each apply is a request
    :raises ValueError: if the name is empty
    """

    def __init__(self, client: Client, field_manager: str, informers: SharedInformerFactory | None = None) -> None:
        want_client(client, "the client of an Applier")
        want_text(field_manager, "the field manager", "a text: the arguments are (client, field_manager)")
        if not field_manager:
            raise ValueError("the field manager has no name: want one such as 'webapp-operator'")
        self.field_manager = field_manager
        self._client = client
        self._informers = informers
        self._applied: dict[tuple[GroupVersionResource, str], _Applied] = {}

    async def apply(self, obj: T, *, force: bool = True) -> Written[T]:
        """
        Set these fields of an object; create the object if it does not exist.

        :param obj: the wanted fields, as a model, a custom resource or a dict. Other fields are not changed
        :param force: take over fields of other field managers, as controllers do. Otherwise such fields are a conflict
        :return: the object, and the fields that changed. If another client wrote at the same time, its changes are
            among them
        :raises Conflict: if other field managers own some of the fields, and `force` is False
        :raises Invalid: if the server refuses the object
        """
        return await self._apply(await self._client.resource_for_object(obj), obj, force=force)

    async def _apply(
        self, resource: Resource[Any], obj: T, *, force: bool, found: tuple[Any] | None = None
    ) -> Written[T]:
        """
        :param found: the object at the server, or None in its place, if it was read just now
        """
        key = accessor_of(obj).key(obj)
        wanted = encode(obj)
        last = self._applied.get((resource.gvr, key))
        cached = self._cached(resource, key)
        if last is not None and cached is not None and equal(last.wanted, wanted) and _same(cached, last):
            return Written(cached, Outcome.UNCHANGED)
        before = cached
        if before is None:
            (before,) = found or (await _there(resource, obj),)
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
        Apply an object, and make `owner` its controlling owner.

        The object is then deleted together with its owner. A controller that watches its kind with ``watch_owned``
        syncs the owner when the object changes.

        :param owner: an object from the server, with a UID
        :param obj: the wanted fields. If it has no namespace, it gets its owner's
        :param gvk: the kind of `owner`; needed only if its type does not tell
        :param force: see :meth:`apply`
        :raises AlreadyOwned: if the object exists and has another controlling owner
        :raises ValueError: if the object is in another namespace than its owner
        """
        owned = copy.deepcopy(obj)
        set_controller_reference(owner, owned, gvk)
        resource = await self._client.resource_for_object(owned)
        accessor = accessor_of(owned)
        found = None
        there = self._cached(resource, accessor.key(owned))
        if there is None:
            there = await _there(resource, owned)
            found = (there,)
        if there is not None and (current := get_controller_of(there)) is not None:
            owners = accessor_of(owner)
            if current.uid != owners.uid(owner):
                raise AlreadyOwned(
                    f"{resource.gvr.group_resource} {accessor.key(owned)} is controlled by {current.kind} "
                    f"{current.name}: it cannot belong to {owners.key(owner)} as well"
                )
        return await self._apply(resource, owned, force=force, found=found)

    def forget(self, obj: Any) -> None:
        """Forget an object. Call this when it will not be applied again, to free memory."""
        key = accessor_of(obj).key(obj)
        for applied in [applied for applied in self._applied if applied[1] == key]:
            del self._applied[applied]

    def _cached(self, resource: Resource[Any], key: str) -> Any:
        informer = self._informers.informers.get(resource.gvr) if self._informers is not None else None
        # An informer whose objects have only some of the fields cannot be used: they differ from the applied object.
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
    """Whether an object is still the result of an apply, apart from the fields that the server sets."""
    return accessor_of(cached).uid(cached) == last.uid and equal(comparable(cached), last.result)
