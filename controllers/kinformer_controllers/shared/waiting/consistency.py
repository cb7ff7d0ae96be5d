"""ConsistencyStore: a controller does not act on a cache that is older than its own last write.

Expectations tell a controller what is still to come; this tells it whether what it looks at has caught up. Each write
is noted; a sync starts by asking::

    seen = ConsistencyStore({PODS: pods.indexer, REPLICA_SETS: replica_sets.indexer}, clock)

    async def sync(key: str) -> float | None:
        if (wait := seen.wait(key)) is not None:
            return wait
        ...
        updated = await resource.update_status(rs)
        seen.wrote(owner_id(rs), REPLICA_SETS, updated.metadata.resource_version)

A write is noted in one of two ways. :meth:`ConsistencyStore.wrote` takes the version alone, and waits until the cache
has come to it. :meth:`ConsistencyStore.wrote_object` and :meth:`ConsistencyStore.deleted` take the object, and look at
what the cache shows of it. That is exact even where versions cannot be compared. An object that was made and is not
there has either not come yet or is gone again: the version of the cache tells which.

Kubernetes fails such a sync, and tries again later each time. Here it costs nothing: the event that brings the cache up
to date is one of the owner's objects, whose handler adds the key anyway. A handler that passes over the events of the
controller's own writes asks :meth:`ConsistencyStore.caught_up` instead, and adds the key if the owner has waited for
that event. The seconds that :meth:`ConsistencyStore.wait` gives are for the rare write whose event never comes.

All of it belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from prometheus_client import Counter

from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.meta import GroupResource, accessor_of, is_older
from kinformer_controllers.shared.owning.identity import OwnerId

__all__ = ("LOOK_AGAIN", "WAIT_TIMEOUT", "ConsistencyStore", "VersionedStore")

log = get_logger(__name__)

#: Seconds after which a key that waits is looked at again, if nothing wakes it earlier.
LOOK_AGAIN: Final = 15.0
#: Seconds after which the cache is taken at its word: the server may have lost the write, in a restore from a backup.
WAIT_TIMEOUT: Final = 5 * 60.0


class VersionedStore(Protocol):
    """What is asked of an informer's indexer."""

    def last_store_sync_resource_version(self) -> str:
        """The version that the cache has come to; empty before its first list."""

    def get_by_key(self, key: str, /) -> Any:
        """The object of that key, None if there is none."""


@dataclass(eq=False, slots=True)
class _Writes:
    uid: str
    since: float
    #: The newest version written, by resource.
    versions: dict[GroupResource, str] = field(default_factory=dict)
    #: By resource and key, an object's uid and the version of it that was written; None if it was deleted.
    objects: dict[tuple[GroupResource, str], tuple[str, str | None]] = field(default_factory=dict)
    #: Whether the owner has been told to wait for these.
    waits: bool = False


class ConsistencyStore:
    """
    The last writes of each owner, until the caches show them.

    :param stores: the caches, by what they hold; a write of anything else is not waited for
    :param skips: counts, by group and resource, the syncs that had to wait; nothing counts them if None
    :param timeout: seconds from an owner's last write after which the caches are taken at their word
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
        """An object was created or changed for this owner, and has that version now."""
        writes = self._of(owner)
        had = writes.versions.get(resource)
        if had is None or is_older(had, version):
            writes.versions[resource] = version

    def wrote_object(self, owner: OwnerId, resource: GroupResource, obj: Any) -> None:
        """
        An object was created or changed for this owner: wait until the cache shows it so, or newer, or gone again.

        :param obj: as the server answered
        """
        accessor = accessor_of(obj)
        self._of(owner).objects[resource, accessor.key(obj)] = accessor.uid(obj), accessor.resource_version(obj)

    def deleted(self, owner: OwnerId, resource: GroupResource, key: str, uid: str) -> None:
        """
        An object was deleted for this owner, of which the server says no version: wait until it has gone.

        One that a finalizer keeps is waited for until the cache shows that it is being deleted.
        """
        self._of(owner).objects[resource, key] = uid, None

    def wait(self, key: str) -> float | None:
        """
        Whether the caches are behind the last write.

        :return: seconds after which to look again, if nothing wakes the owner earlier; None if all is seen
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
        Some object of an owner has changed in a cache: whether :meth:`wait` held the owner back, and would not now.

        Then its key is to be added. It is True once, and never for an owner that was not held back. Writes that the
        caches show are forgotten here: if they are undone later, that is no old news.
        """
        writes = self._writes.get(key)
        if writes is None or self._behind(writes) is not None:
            return False
        del self._writes[key]
        return writes.waits

    def forget(self, key: str, uid: str = "") -> None:
        """
        The owner is gone.

        :param uid: which one; what another of its name has written is kept. Empty for whichever
        """
        writes = self._writes.get(key)
        if writes is not None and uid in ("", writes.uid):
            del self._writes[key]

    def _of(self, owner: OwnerId) -> _Writes:
        writes = self._writes.get(owner.key)
        if writes is None or writes.uid != owner.uid:
            writes = self._writes[owner.key] = _Writes(owner.uid, 0.0)
        writes.since = self._clock.monotonic()
        return writes

    def _behind(self, writes: _Writes) -> GroupResource | None:
        for resource, version in writes.versions.items():
            store = self._stores.get(resource)
            if store is None:
                continue
            shown = store.last_store_sync_resource_version()
            # A cache without a version has not had its first list: it cannot show a write.
            if not shown or is_older(shown, version):
                return resource
        for (resource, key), (uid, written) in writes.objects.items():
            store = self._stores.get(resource)
            if store is not None and not _shows(store, key, uid, written):
                return resource
        return None


def _shows(store: VersionedStore, key: str, uid: str, version: str | None) -> bool:
    """Whether a cache shows what was written of an object, or what came after that."""
    there = store.get_by_key(key)
    if there is not None:
        accessor = accessor_of(there)
        shown = accessor.resource_version(there)
        if shown == version:  # the usual case: no two states of an object have one version, whatever its uid
            return True
        if accessor.uid(there) == uid:
            return accessor.is_being_deleted(there) if version is None else not is_older(shown, version)
    if version is None or not version.isdecimal():
        return True
    # It is not there: gone again if the cache has been where it was, else still to come.
    come_to = store.last_store_sync_resource_version()
    return come_to.isdecimal() and not is_older(come_to, version)
