"""OwnWrites: what the last sync of each key has written, until the caches show it.

A sync that runs again before its cache shows what it wrote may do it once more: make a second object, or count itself
wrongly. With ``Controller(..., consistent=True)`` the key waits instead. Writes of any kind of object are noted,
through whichever client; those of a kind that the controller has no cache of are not waited for.

Kubernetes' own controllers do the same for some of their writes (KEP-5647, ``ConsistencyStore``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer.cache.freshness import CATCH_UP_TIMEOUT, is_as_new_as
from kinformer.client.writes import noting_writes
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import GroupVersionResource, is_older

__all__ = ("OwnWrites",)

log = get_logger(__name__)

#: Seconds between two looks at a cache that is behind: what was written is usually on its way.
_LOOK_AGAIN: Final = 0.01


class OwnWrites:
    """The newest version of each resource that the last syncs of a key have written, by namespace."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: By key, when its first write that is waited for was made, and the versions by resource and namespace.
        self._written: dict[str, tuple[float, dict[tuple[GroupVersionResource, str], str]]] = {}

    @contextmanager
    def noted(self, key: str) -> Iterator[None]:
        """Note what is written in this block."""

        def note(gvr: GroupVersionResource, namespace: str, version: str) -> None:
            _, versions = self._written.setdefault(key, (self._clock.monotonic(), {}))
            where = gvr, namespace
            if where not in versions or is_older(versions[where], version):
                versions[where] = version

        with noting_writes(note):
            yield

    def wait(self, key: str, informers: Iterable[SharedIndexInformer[Any]]) -> float | None:
        """
        Seconds after which to look again, None if the caches show all that was written.

        :param informers: whose caches they are
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
