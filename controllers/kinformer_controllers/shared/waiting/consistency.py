"""ConsistencyStore: a controller does not act on a cache that is older than its own last write.

Expectations tell a controller what is still to come; this tells it whether what it looks at has caught up. Each write
notes the version that the server answered; a sync starts by asking::

    seen = ConsistencyStore({PODS: pods.indexer, REPLICA_SETS: replica_sets.indexer}, clock)

    async def sync(key: str) -> float | None:
        if (wait := seen.wait(key)) is not None:
            return wait
        ...
        updated = await resource.update_status(rs)
        seen.wrote(owner_id(rs), REPLICA_SETS, updated.metadata.resource_version)

Kubernetes fails such a sync, and tries again later each time. Here it costs nothing: the event that brings the cache up
to date is one of the owner's objects, whose handler adds the key anyway. The seconds that :meth:`ConsistencyStore.wait`
gives are for the rare write whose event never comes.

All of it belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from prometheus_client import Counter

from kinformer.clock import Clock, RealClock
from kinformer.meta import GroupResource, accessor_of
from kinformer_controllers.shared.owning.identity import OwnerId

__all__ = ("LOOK_AGAIN", "WAIT_TIMEOUT", "ConsistencyStore", "VersionedStore", "is_older")

#: Seconds after which a key that waits is looked at again, if nothing wakes it earlier.
LOOK_AGAIN: Final = 15.0
#: Seconds after which the cache is taken at its word: the server may have lost the write, in a restore from a backup.
WAIT_TIMEOUT: Final = 5 * 60.0


class VersionedStore(Protocol):
    """What is asked of an informer's indexer."""

    def last_store_sync_resource_version(self) -> str:
        """The version that the cache has come to; empty before its first object."""

    def get_by_key(self, key: str, /) -> Any:
        """The object of that key, None if there is none."""


@dataclass(eq=False, slots=True)
class _Writes:
    uid: str
    since: float
    #: The newest version written, by resource.
    versions: dict[GroupResource, str] = field(default_factory=dict)
    #: uids of what was deleted, by resource and key.
    deleted: dict[tuple[GroupResource, str], str] = field(default_factory=dict)


class ConsistencyStore:
    """
    The last writes of each owner, until the caches show them.

    :param stores: the caches, by what they hold; a write of anything else is not waited for
    :param skips: counts, by group and resource, the syncs that had to wait; nothing counts them if None
    """

    def __init__(
        self,
        stores: Mapping[GroupResource, VersionedStore],
        clock: Clock | None = None,
        *,
        skips: Counter | None = None,
    ) -> None:
        self._stores = dict(stores)
        self._clock = clock or RealClock()
        self._skips = skips
        self._writes: dict[str, _Writes] = {}

    def wrote(self, owner: OwnerId, resource: GroupResource, version: str) -> None:
        """An object was created or changed for this owner, and has that version now."""
        writes = self._of(owner)
        had = writes.versions.get(resource)
        if had is None or is_older(had, version):
            writes.versions[resource] = version

    def deleted(self, owner: OwnerId, resource: GroupResource, key: str, uid: str) -> None:
        """An object was deleted for this owner, of which the server says no version: wait until it has gone."""
        self._of(owner).deleted[resource, key] = uid

    def wait(self, key: str) -> float | None:
        """
        Whether the caches are behind the last write.

        :return: seconds after which to look again, if nothing wakes the owner earlier; None if all is seen
        """
        writes = self._writes.get(key)
        if writes is None:
            return None
        behind = self._behind(writes)
        if behind is None or self._clock.monotonic() - writes.since > WAIT_TIMEOUT:
            del self._writes[key]
            return None
        if self._skips is not None:
            self._skips.labels(behind.group, behind.resource).inc()
        return LOOK_AGAIN

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
            # A cache that is empty since its first list has no version until the first event: it cannot show a write.
            if not shown or is_older(shown, version):
                return resource
        for (resource, key), uid in writes.deleted.items():
            store = self._stores.get(resource)
            there = store.get_by_key(key) if store is not None else None
            if there is not None and accessor_of(there).uid(there) == uid:
                return resource
        return None


def is_older(version: str, than: str) -> bool:
    """Whether one resource version is before another; False where either is none that can be compared."""
    if not (version.isdecimal() and than.isdecimal()):
        return False
    return (len(version), version) < (len(than), than)
