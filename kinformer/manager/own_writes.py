"""OwnWrites: remembers what the last sync of each key has written, until the caches show it.

If a key is synced again before the cache shows the writes of its last sync, the sync may repeat them. It may create a
second object, or count objects wrongly. With ``Controller(..., consistent=True)`` the key waits instead. Writes of all
kinds of objects are recorded, through any client. Writes of a kind that the controller has no cache of are not waited
for.

Kubernetes' own controllers do the same for some of their writes (KEP-5647, ``ConsistencyStore``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer.cache.catching_up import CATCH_UP_TIMEOUT
from kinformer.cache.freshness import is_as_new_as
from kinformer.client.writes import noting_writes
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import GroupVersionResource, is_older

__all__ = ("OwnWrites",)

log = get_logger(__name__)

#: Seconds after which a cache that is behind is checked again. The event of the write usually arrives soon.
_LOOK_AGAIN: Final = 0.01


class OwnWrites:
    """The newest resourceVersion of each resource and namespace that the last sync of a key has written."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: By key: when the first of these writes was made, and the versions by resource and namespace.
        self._written: dict[str, tuple[float, dict[tuple[GroupVersionResource, str], str]]] = {}

    @contextmanager
    def noted(self, key: str) -> Iterator[None]:
        """Record the writes in this block."""

        def note(gvr: GroupVersionResource, namespace: str, version: str) -> None:
            _, versions = self._written.setdefault(key, (self._clock.monotonic(), {}))
            where = gvr, namespace
            if where not in versions or is_older(versions[where], version):
                versions[where] = version

        with noting_writes(note):
            yield

    def wait(self, key: str, informers: Iterable[SharedIndexInformer[Any]]) -> float | None:
        """
        Check whether the caches show all recorded writes of a key.

        :param informers: the informers with these caches
        :return: seconds after which to check again, None if the caches show all writes or the time limit is over
        """
        if key not in self._written:
            return None
        since, versions = self._written[key]
        behind = {
            informer.name
            for informer in informers
            for (gvr, namespace), version in versions.items()
            if gvr == getattr(informer, "resource", None) and not is_as_new_as(informer, version, namespace)
        }
        if behind and self._clock.monotonic() - since < CATCH_UP_TIMEOUT:
            return _LOOK_AGAIN
        if behind:
            log.warning("caches_may_be_old", key=key, late=sorted(behind), waited=CATCH_UP_TIMEOUT)
        del self._written[key]
        return None
