"""ConsistencyStore: a controller does not act on a cache that is older than its own last write.

Expectations count the creations and deletions that the cache has not shown yet. The ConsistencyStore compares resource
versions: it says whether the caches have reached the owner's last writes. Each write is noted, and a sync starts with
:meth:`ConsistencyStore.wait`::

    seen = ConsistencyStore({PODS: pods.indexer, REPLICA_SETS: replica_sets.indexer}, clock)

    async def sync(key: str) -> float | None:
        if (wait := seen.wait(key)) is not None:
            return wait
        ...
        updated = await resource.update_status(rs)
        seen.wrote(owner_id(rs), REPLICA_SETS, updated.metadata.resource_version)

A write is noted in one of two ways. :meth:`ConsistencyStore.wrote` takes only the resource version, and waits until the
cache has reached it. :meth:`ConsistencyStore.wrote_object` and :meth:`ConsistencyStore.deleted` take the object, and
compare it with the object in the cache. That is exact even if versions cannot be compared. If a created object is not
in the cache, it was either not added yet or already deleted again; the version of the cache says which.

Kubernetes' sync fails in this case, and is retried later. Here no retry is needed: the event that updates the cache is
about one of the owner's objects, and its handler adds the owner's key anyway. If a handler skips events of the
controller's own writes, it calls :meth:`ConsistencyStore.caught_up`, and adds the key if the owner has waited for this
event. The delay that :meth:`ConsistencyStore.wait` returns is for the rare write whose event never comes.

Everything here is only used in the thread of the event loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from prometheus_client import Counter

from kinformer.clock import Clock, RealClock
from kinformer.controllerutil.owning import OwnerId
from kinformer.logs import get_logger
from kinformer.meta import GroupResource, accessor_of, is_older

__all__ = (
    "ConsistencyStore",
    "LOOK_AGAIN",
    "VersionedStore",
    "WAIT_TIMEOUT",
)

log = get_logger(__name__)

#: Seconds until a waiting key is synced again, if no event comes earlier.
LOOK_AGAIN: Final = 15.0
#: Seconds after which a write is no longer waited for: the server may have lost it, in a restore from a backup.
WAIT_TIMEOUT: Final = 5 * 60.0


class VersionedStore(Protocol):
    """The methods of an informer's indexer that are needed here."""

    def last_store_sync_resource_version(self, namespace: str = "", /) -> str:
        """The version that the cache has reached in a namespace, or in all of them; empty before its first list."""

    def get_by_key(self, key: str, /) -> Any:
        """Return the object with that key; None if there is none."""


@dataclass(eq=False, slots=True)
class _Writes:
    uid: str
    #: The owner's, in which its objects are, too.
    namespace: str
    since: float
    #: The newest version written, by resource.
    versions: dict[GroupResource, str] = field(default_factory=dict)
    #: By resource and key: an object's uid and its written version; the version is None if the object was deleted.
    objects: dict[tuple[GroupResource, str], tuple[str, str | None]] = field(default_factory=dict)
    #: Whether a sync of the owner had to wait for these.
    waits: bool = False


class ConsistencyStore:
    """
    The last writes of each owner, until the caches show them.

    :param stores: the caches, by their resource; writes of other resources are not waited for
    :param skips: counts the syncs that had to wait, by group and resource; None if they are not counted
    :param timeout: seconds after an owner's last write, after which its writes are no longer waited for
    """

    def __init__(
        self,
        stores: Mapping[GroupResource, VersionedStore],
        clock: Clock | None = None,
        *,
        skips: Counter | None = None,
        timeout: float = WAIT_TIMEOUT,
    ) -> None:
        self._stores = dict(stores)
        self._clock = clock or RealClock()
        self._skips = skips
        self._timeout = timeout
        self._writes: dict[str, _Writes] = {}

    def wrote(self, owner: OwnerId, resource: GroupResource, version: str) -> None:
        """Note that an object was created or changed for this owner, and has that resource version now."""
        writes = self._of(owner)
        had = writes.versions.get(resource)
        if had is None or is_older(had, version):
            writes.versions[resource] = version

    def wrote_object(self, owner: OwnerId, resource: GroupResource, obj: Any) -> None:
        """
        Note that an object was created or changed for this owner.

        The owner then waits until the cache has the object in this version or a newer one, or the object is deleted
        again.

        :param obj: the object in the server's answer
        """
        accessor = accessor_of(obj)
        self._of(owner).objects[resource, accessor.key(obj)] = accessor.uid(obj), accessor.resource_version(obj)

    def deleted(self, owner: OwnerId, resource: GroupResource, key: str, uid: str) -> None:
        """
        Note that an object was deleted for this owner. The server's answer has no resource version.

        The owner then waits until the object is no longer in the cache, or is being deleted there (if it has
        finalizers).
        """
        self._of(owner).objects[resource, key] = uid, None

    def wait(self, key: str) -> float | None:
        """
        Check whether the caches have reached the owner's last writes.

        :return: None if they have; otherwise the seconds until the next try, if no event comes earlier
        """
        writes = self._writes.get(key)
        if writes is None:
            return None
        behind = self._behind(writes)
        if behind is None:
            del self._writes[key]
            return None
        if self._clock.monotonic() - writes.since > self._timeout:
            log.warning("write_never_seen", owner=key, resource=str(behind))
            del self._writes[key]
            return None
        writes.waits = True
        if self._skips is not None:
            self._skips.labels(behind.group, behind.resource).inc()
        return LOOK_AGAIN

    def caught_up(self, key: str) -> bool:
        """
        Whether :meth:`wait` held the owner back and would not do so now. Call it when an object of the owner changed.

        If it returns True, the caller must add the owner's key to the queue. It returns True only once. Writes that the
        caches show are forgotten here, so that a later change that undoes them does not count as an old cache.
        """
        writes = self._writes.get(key)
        if writes is None or self._behind(writes) is not None:
            return False
        del self._writes[key]
        return writes.waits

    def forget(self, key: str, uid: str = "") -> None:
        """
        Forget the writes of an owner that is gone.

        :param uid: the owner's uid; the writes of another owner with the same name are kept. Empty for any uid
        """
        writes = self._writes.get(key)
        if writes is not None and uid in ("", writes.uid):
            del self._writes[key]

    def _of(self, owner: OwnerId) -> _Writes:
        writes = self._writes.get(owner.key)
        if writes is None or writes.uid != owner.uid:
            writes = self._writes[owner.key] = _Writes(owner.uid, owner.key.rpartition("/")[0], 0.0)
        writes.since = self._clock.monotonic()
        return writes

    def _behind(self, writes: _Writes) -> GroupResource | None:
        for resource, version in writes.versions.items():
            store = self._stores.get(resource)
            if store is None:
                continue
            shown = store.last_store_sync_resource_version(writes.namespace)
            # A cache without a version has not had its first list yet.
            if not shown or is_older(shown, version):
                return resource
        for (resource, key), (uid, written) in writes.objects.items():
            store = self._stores.get(resource)
            if store is not None and not _shows(store, key, uid, written):
                return resource
        return None


def _shows(store: VersionedStore, key: str, uid: str, version: str | None) -> bool:
    """Whether a cache has an object in the written version or a later state."""
    there = store.get_by_key(key)
    if there is not None:
        accessor = accessor_of(there)
        shown = accessor.resource_version(there)
        if shown == version:  # the usual case: two states never have the same version, even with different uids
            return True
        if accessor.uid(there) == uid:
            return accessor.is_being_deleted(there) if version is None else not is_older(shown, version)
    if version is None or not version.isdecimal():
        return True
    # The object is not in the cache. If the cache has reached its version, it was deleted again; else it will be added.
    come_to = store.last_store_sync_resource_version(key.rpartition("/")[0])
    return come_to.isdecimal() and not is_older(come_to, version)
