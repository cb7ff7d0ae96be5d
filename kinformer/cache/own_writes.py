"""Own writes: a program does not act on a cache that is older than what it has written itself.

A cache shows a write a moment after the server has answered it, or minutes after if the server's watch is behind. In
between, a controller could make an object twice, count objects wrongly, or undo what it has just done. There is one
answer to this, for the built-in controllers, for those of users, and for any other reader of a cache:

1. *Noting.* The client notes each object that is written, and its version, in the :class:`~kinformer.client.Writes` of
   the context (:mod:`kinformer.client.writes`). Nobody has to pass versions on, and no write is forgotten.
2. *Comparing.* :func:`shows` says whether a cache has caught up with some writes: with each written object, in that
   version or a later one, and with each deletion. Only kinds that a cache holds are compared, and only objects that it
   selects.
3. *Waiting*, in one of two ways:

   - A *key* of ``Controller(consistent=True)`` waits. It is not synced before the caches of its controller show what
     its last sync wrote. No worker is held up. After :data:`GIVE_UP_AFTER` the key is synced all the same, and a
     warning says so: the server may have lost the write, in a restore from a backup.
   - A *caller* waits: ``await informer.wait_for_own_writes()``. A :class:`~kinformer.informers.Reader` does this before
     each read. After :data:`~kinformer.cache.catching_up.CATCH_UP_TIMEOUT` the caller gets a
     :exc:`~kinformer.cache.catching_up.CacheBehind`.

Kubernetes 1.36 has the first way for four controllers (KEP-5647, ``ConsistencyStore``): a controller notes each write
in its code, and a sync fails and is retried while a cache is behind. controller-runtime has the second way. client-go
has a third one, the MutationCache: it returns written objects in place of cached ones, and needs all events for that.

There are two differences from Kubernetes. There, a write counts as seen when the *whole* cache has reached its version;
here also when the cache has that very object in this version or a later one. And here deletions are waited for, too,
although their answers have no version: until that very object is gone from the cache, or is seen to go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from kinformer.cache.catching_up import CATCH_UP_TIMEOUT, CacheBehind, look_until
from kinformer.client.writes import LastWrite, Writes, own_writes
from kinformer.clock import Clock, move_on_after
from kinformer.meta import GroupVersionResource, accessor_of, is_older

__all__ = ("GIVE_UP_AFTER", "shows", "wait_for_own_writes")

#: Seconds after the last write of a key, after which it is synced although a cache does not show the write. As long as
#: Kubernetes' expectations of creations and deletions.
GIVE_UP_AFTER: Final = 5 * 60.0


class _Store(Protocol):
    def last_store_sync_resource_version(self, namespace: str = "", /) -> str: ...

    def get_by_key(self, key: str, /) -> Any: ...


class _Cache(Protocol):
    """What is needed of a :class:`~kinformer.cache.SharedIndexInformer`."""

    name: str
    resource: GroupVersionResource | None

    @property
    def namespaces(self) -> tuple[str, ...]: ...

    @property
    def lister_watchers(self) -> Iterable[object]: ...

    @property
    def indexer(self) -> _Store: ...


def shows(cache: _Cache, writes: Writes, namespace: str = "") -> bool:
    """
    Whether a cache shows some writes. Those of other kinds than its own do not count.

    :param namespace: only the writes in this namespace count; empty for all
    """
    if cache.resource is None:
        return True
    # The last write is usually the last one to arrive. So most calls end at the first object, or find all of them.
    return all(
        _shows(cache, key, write)
        for key, write in reversed(writes.of(cache.resource.group_resource).items())
        if not namespace or _namespace_of(key) == namespace
    )


def _shows(cache: _Cache, key: str, write: LastWrite) -> bool:
    namespace, store = _namespace_of(key), cache.indexer
    if namespace and cache.namespaces and namespace not in cache.namespaces:
        return True
    if not write.version:
        there = store.get_by_key(key)
        return there is None or _uid(there) != write.uid or accessor_of(there).is_being_deleted(there)
    if not write.version.isdecimal():
        return True  # as in Kubernetes: what cannot be compared is not waited for
    reached = store.last_store_sync_resource_version(namespace)
    if reached.isdecimal() and not is_older(reached, write.version):
        return True
    there = store.get_by_key(key)
    if there is not None and _uid(there) == write.uid:
        return not is_older(accessor_of(there).resource_version(there), write.version)
    return there is None and not _selects(cache, write.obj)


def _selects(cache: _Cache, obj: Any) -> bool:
    """Whether the objects of a cache include one like this; True if that cannot be told."""
    selects = [getattr(source, "selects", None) for source in cache.lister_watchers]
    return not selects or any(one is None or one(obj) for one in selects)


def _namespace_of(key: str) -> str:
    return key.rpartition("/")[0]


def _uid(obj: Any) -> str:
    return accessor_of(obj).uid(obj)


async def wait_for_own_writes(cache: _Cache, namespace: str, timeout: float | None, clock: Clock) -> None:
    """
    Return once a cache shows what was written in this context.

    :param namespace: wait only for writes in this namespace; empty for all
    :param timeout: seconds; :data:`CATCH_UP_TIMEOUT` if None
    :raises CacheBehind: if it does not show them by then
    """
    writes = own_writes()
    if writes is None or shows(cache, writes, namespace):
        return
    seconds = CATCH_UP_TIMEOUT if timeout is None else timeout
    with move_on_after(clock, seconds) as waiting:
        await look_until(lambda: shows(cache, writes, namespace), clock)
    if waiting.cancelled_caught:
        raise CacheBehind(f"the cache of informer {cache.name} does not show own writes after {seconds:g} s")
