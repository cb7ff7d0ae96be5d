"""Feeds: what brings the server's objects into an informer's cache, one feed for each lister-watcher.

An informer of all namespaces, or of one, has a single feed. An informer of several namespaces has a feed for each of
them: a reflector and a queue, which list, watch, fail and recover independently of the others. All feeds of an informer
fill one cache and call one set of handlers, so that readers and handlers see no difference. controller-runtime has a
separate cache for each namespace instead, behind one that asks all of them.

The version that the whole informer has reached is that of the feed which is the furthest behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from kinformer.cache.controller import Controller
from kinformer.cache.listwatch import ListerWatcher
from kinformer.cache.store import Indexer, KeyListerGetter
from kinformer.meta import GroupVersionResource
from kinformer.tasks import plain_task_group

__all__ = ("Feed", "Feeds", "InNamespace")

T = TypeVar("T")


class InNamespace(KeyListerGetter[T]):
    """The objects of one namespace in an indexer: a list of that namespace shows which of them are gone."""

    __slots__ = ("_indexer", "_prefix")

    def __init__(self, indexer: Indexer[T], namespace: str) -> None:
        self._indexer = indexer
        # Compares keys and does not use the index by namespace: a transform may remove an object's metadata.
        self._prefix = f"{namespace}/"

    def list_keys(self) -> list[str]:
        """The keys that belong to the namespace."""
        prefix = self._prefix
        return [key for key in self._indexer.list_keys() if key.startswith(prefix)]

    def get_by_key(self, key: str) -> T | None:
        """The object under a key of that namespace; None for keys of others."""
        return self._indexer.get_by_key(key) if key.startswith(self._prefix) else None


class Feed(Generic[T]):
    """
    One lister-watcher of an informer, and the controller that follows it.

    :ivar namespace: the namespace whose objects it brings; empty for all namespaces
    :ivar name: its name in logs and metrics
    :ivar store_resource_version: the version up to which the cache is complete for this feed; empty before its list
    """

    def __init__(
        self,
        namespace: str,
        name: str,
        lister_watcher: ListerWatcher[T],
        resource: GroupVersionResource | None,
        controller: Controller[T],
    ) -> None:
        self.namespace = namespace
        self.name = name
        self.lister_watcher = lister_watcher
        self.resource = resource
        self.controller = controller
        #: Whether the server can be reached, and what it has sent.
        self.contact = controller.reflector.contact
        self.store_resource_version = ""

    @property
    def last_sync_resource_version(self) -> str:
        """The version of the last list or event that was received; the cache may be a little behind."""
        return self.controller.last_sync_resource_version

    @property
    def queued(self) -> int:
        """How many items wait between the reflector and the cache."""
        return self.controller.pending

    @property
    def is_settled(self) -> bool:
        """Whether the cache has exactly what this feed had at :attr:`last_sync_resource_version`."""
        return self.has_synced and self.controller.is_settled and bool(self.last_sync_resource_version)

    @property
    def has_synced(self) -> bool:
        """Whether everything of the first list is in the cache."""
        return self.controller.has_synced

    @property
    def is_current(self) -> bool:
        """Whether the first list is in the cache and the stream of changes has not broken since, or is mended."""
        return self.has_synced and not self.contact.is_behind

    def holds(self, key: str) -> bool:
        """Whether this feed brings the object of a key."""
        return not self.namespace or key.startswith(f"{self.namespace}/")


class Feeds(Generic[T]):
    """The feeds of one informer: empty before it runs."""

    def __init__(self) -> None:
        self._all: tuple[Feed[T], ...] = ()
        #: The feeds that have not yet taken part in the resync that another feed has begun.
        self._to_resync: set[Feed[T]] = set()

    def __iter__(self) -> Iterator[Feed[T]]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def set(self, feeds: Iterable[Feed[T]]) -> None:
        """Have these feeds from now on."""
        self._all = tuple(feeds)

    def of(self, namespace: str) -> tuple[Feed[T], ...]:
        """The feeds that bring the objects of a namespace; all feeds if it is empty."""
        if not namespace:
            return self._all
        return tuple(feed for feed in self._all if feed.namespace in ("", namespace))

    async def run(self) -> None:
        """Follow the server until cancelled."""
        if len(self._all) == 1:
            await self._all[0].controller.run()
            return
        async with plain_task_group() as tasks:
            for feed in self._all:
                tasks.start_soon(feed.controller.run, name=f"informer {feed.name}")

    async def forget(self, keys: Iterable[str]) -> None:
        """Process the objects with these keys as if they had been deleted."""
        gone = list(keys)
        for feed in self._all:
            await feed.controller.forget([key for key in gone if feed.holds(key)])

    def should_resync(self, feed: Feed[T], is_due: Callable[[], bool]) -> bool:
        """
        Whether a feed must resync now. When a resync is due, each feed takes part in it once.

        :param is_due: whether a handler's resync is due; a call that returns True starts the handler's next period
        """
        if feed in self._to_resync:
            self._to_resync.discard(feed)
            return True
        if not is_due():
            return False
        self._to_resync = {other for other in self._all if other is not feed}
        return True

    # --- all of them together

    @property
    def last_sync_resource_version(self) -> str:
        return _oldest([feed.last_sync_resource_version for feed in self._all])

    @property
    def store_resource_version(self) -> str:
        return _oldest([feed.store_resource_version for feed in self._all])

    def store_version_in(self, namespace: str) -> str:
        """The version up to which the cache has everything of a namespace; empty before the first list of it."""
        return _oldest([feed.store_resource_version for feed in self.of(namespace)])

    @property
    def queued(self) -> int:
        return sum(feed.queued for feed in self._all)

    @property
    def has_synced(self) -> bool:
        return bool(self._all) and all(feed.has_synced for feed in self._all)


def _oldest(versions: list[str]) -> str:
    """The oldest of some versions; empty if one is, or if they differ and cannot be compared."""
    if len(set(versions)) == 1:
        return versions[0]
    return min(versions, key=int) if versions and all(version.isdecimal() for version in versions) else ""
