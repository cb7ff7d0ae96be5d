"""The garbage collector: dependents follow their owners, are let go, or hold them, as the delete asked.

It keeps two indexes of what is stored, by uid: where each object is, and who depends on it. What is to be looked at
again goes into a queue of objects; looking twice does no harm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from kinformer.envtest import status
from kinformer.envtest.admission import User
from kinformer.envtest.operations import DeleteOptions, Operations, WriteOptions
from kinformer.envtest.registry import Resource
from kinformer.envtest.storage import Change
from kinformer.envtest.storage.history import DELETED
from kinformer.envtest.strategy.base import Obj
from kinformer.logs import get_logger
from kinformer.meta.names import GroupResource, GroupVersion

__all__ = ("GarbageCollector",)

log = get_logger(__name__)

_HOW = WriteOptions(
    User("system:serviceaccount:kube-system:generic-garbage-collector"), manager="kube-controller-manager"
)
_FOREGROUND = "foregroundDeletion"
_ORPHAN = "orphan"


class _Owner(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    kind: str = ""
    api_version: str = ""
    name: str = ""
    block_owner_deletion: bool | None = None


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    owner_references: list[_Owner] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None


class _Head(msgspec.Struct, gc=False):
    metadata: _Metadata


class _Place(NamedTuple):
    """Where an object is stored."""

    resource: GroupResource
    key: str


_read_head = msgspec.json.Decoder(_Head).decode


class GarbageCollector:
    """See :class:`~kinformer.envtest.loops.runner.Loop`."""

    def __init__(self, operations: Operations):
        self._operations = operations
        self._places: dict[str, _Place] = {}
        self._dependents: dict[str, set[_Place]] = {}
        self._owners: dict[_Place, frozenset[str]] = {}
        self._queue: deque[_Place] = deque()
        self._queued: set[_Place] = set()

    # -- taking note ------------------------------------------------------------------------------------------------

    def note(self, resource: GroupResource, change: Change) -> None:
        place = _Place(resource, change.now.key)
        metadata = _read_head(change.now.head).metadata
        gone = change.type == DELETED
        owners = frozenset() if gone else frozenset(owner.uid for owner in metadata.owner_references or ())
        before = self._owners.get(place, frozenset())
        if owners != before:
            self._index(place, before, owners)
            # An owner that is on its way out may have waited for this dependent.
            for uid in before - owners:
                self._look_at_owner(uid)
        if gone:
            self._places.pop(metadata.uid, None)
            for dependent in self._dependents.get(metadata.uid, ()):
                self._look_at(dependent)
            return
        self._places[metadata.uid] = place
        if owners != before or metadata.deletion_timestamp is not None:
            self._look_at(place)

    def _index(self, place: _Place, before: frozenset[str], owners: frozenset[str]) -> None:
        for uid in before - owners:
            dependents = self._dependents[uid]
            dependents.discard(place)
            if not dependents:
                del self._dependents[uid]
        for uid in owners - before:
            self._dependents.setdefault(uid, set()).add(place)
        if owners:
            self._owners[place] = owners
        else:
            self._owners.pop(place, None)

    def _look_at_owner(self, uid: str) -> None:
        if (owner := self._places.get(uid)) is not None:
            self._look_at(owner)

    def _look_at(self, place: _Place) -> None:
        if place not in self._queued:
            self._queued.add(place)
            self._queue.append(place)

    # -- acting -------------------------------------------------------------------------------------------------------

    @property
    def is_due(self) -> bool:
        return bool(self._queue)

    def act(self) -> bool:
        if not self._queue:
            return False
        place = self._queue.popleft()
        self._queued.discard(place)
        version = self._operations.storage.log(place.resource).objects.get(place.key)
        resource = self._operations.registry.by_storage(place.resource)
        if version is None or resource is None:
            return True
        metadata = _read_head(version.raw).metadata
        try:
            if metadata.deletion_timestamp is not None:
                self._finish_owner(resource, place, metadata)
            if metadata.owner_references:
                self._check_dependent(resource, place, metadata)
        except status.StatusError as error:
            if error.code not in (404, 409):
                raise
        return True

    def _finish_owner(self, resource: Resource, place: _Place, metadata: _Metadata) -> None:
        """Do for an object that is being deleted what its finalizers ask of the collector."""
        finalizers = metadata.finalizers or []
        dependents = list(self._dependents.get(metadata.uid, ()))
        if _ORPHAN in finalizers:
            for dependent in dependents:
                self._disown(dependent, {metadata.uid})
            self._take_finalizer(resource, place, _ORPHAN)
        elif _FOREGROUND in finalizers:
            blocking = False
            for dependent in dependents:
                blocking = self._blocks(dependent, metadata.uid) or blocking
                self._look_at(dependent)
            if not blocking:
                self._take_finalizer(resource, place, _FOREGROUND)

    def _blocks(self, dependent: _Place, owner: str) -> bool:
        version = self._operations.storage.log(dependent.resource).objects.get(dependent.key)
        if version is None:
            return False
        owners = _read_head(version.raw).metadata.owner_references or ()
        return any(one.uid == owner and one.block_owner_deletion for one in owners)

    def _check_dependent(self, resource: Resource, place: _Place, metadata: _Metadata) -> None:
        """Keep a dependent as long as one owner stays; else delete it the way it asks for."""
        solid: list[str] = []
        waiting: set[str] = set()
        dangling: set[str] = set()
        for owner in metadata.owner_references or ():
            state = self._state_of(owner, place)
            if state == "solid":
                solid.append(owner.uid)
            else:
                (waiting if state == "waiting" else dangling).add(owner.uid)
        if solid:
            if waiting or dangling:
                self._disown(place, waiting | dangling)
            return
        if metadata.deletion_timestamp is not None:
            return
        finalizers = metadata.finalizers or []
        if waiting and self._dependents.get(metadata.uid):
            policy = "Foreground"
        elif _ORPHAN in finalizers:
            policy = "Orphan"
        else:
            policy = "Foreground" if _FOREGROUND in finalizers else "Background"
        namespace, _, name = place.key.rpartition("/")
        options = DeleteOptions(propagation=policy, uid=metadata.uid)
        self._operations.delete(resource, namespace, name, options, _HOW)

    def _state_of(self, owner: _Owner, dependent: _Place) -> str:
        """Whether an owner is there to stay (``solid``), waits for its dependents to go, or is gone (``dangling``)."""
        place = self._places.get(owner.uid)
        if place is None:
            # Of a kind that is not served nobody can say whether it is gone.
            return "dangling" if self._is_served(owner, dependent) else "solid"
        namespace = place.key.rpartition("/")[0]
        if namespace and namespace != dependent.key.rpartition("/")[0]:
            return "dangling"
        version_ = self._operations.storage.log(place.resource).objects.get(place.key)
        if version_ is None:
            return "dangling"
        metadata = _read_head(version_.raw).metadata
        if metadata.uid != owner.uid:
            return "dangling"
        if metadata.deletion_timestamp is not None and _FOREGROUND in (metadata.finalizers or ()):
            return "waiting"
        return "solid"

    def _is_served(self, owner: _Owner, dependent: _Place) -> bool:
        try:
            group, version = GroupVersion.parse(owner.api_version)
        except ValueError:
            log.warning(
                "owner_of_no_kind",
                object=dependent.key,
                resource=str(dependent.resource),
                api_version=owner.api_version,
            )
            return False
        return self._operations.registry.by_kind(group, version, owner.kind) is not None

    def _disown(self, place: _Place, uids: set[str]) -> None:
        def change(obj: Obj) -> None:
            kept = [one for one in obj["metadata"].get("ownerReferences") or () if one.get("uid") not in uids]
            _replace(obj["metadata"], "ownerReferences", kept)

        self._write(place, change)

    def _take_finalizer(self, resource: Resource, place: _Place, finalizer: str) -> None:
        def change(obj: Obj) -> None:
            kept = [one for one in obj["metadata"].get("finalizers") or () if one != finalizer]
            _replace(obj["metadata"], "finalizers", kept)

        self._write(place, change)

    def _write(self, place: _Place, edit: Callable[[Obj], None]) -> None:
        resource = self._operations.registry.by_storage(place.resource)
        if resource is None:
            return
        namespace, _, name = place.key.rpartition("/")

        def change(old: Obj | None) -> Obj:
            assert old is not None
            edit(old)
            return old

        self._operations.update(resource, namespace, name, change, _HOW)


def _replace(metadata: Obj, name: str, values: list[Obj] | list[str]) -> None:
    if values:
        metadata[name] = values
    else:
        metadata.pop(name, None)
