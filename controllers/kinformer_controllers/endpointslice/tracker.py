"""SliceTracker: which generation of which slice this controller has written last, by service.

So it tells its own writes, when they come back through the cache, from what others do to its slices; and sees when the
cache is older than its last write.

The watch may be quicker than the answer to a write: the slice may have come, and have been deleted by somebody, before
the answer says that it was made. While a service's slices are written, the tracker notes which are seen to go, and does
not wait for those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kinformer.models import V1EndpointSlice
from kinformer_controllers.endpointslice.labels import service_key

__all__ = ("SliceTracker",)

#: In the place of a generation: it is to be deleted.
_DELETED = -1


class SliceTracker:
    """Generations by slices' uids, by the key of the service that a slice's label names."""

    def __init__(self) -> None:
        self._services: dict[str, dict[str, int]] = {}
        # The uids of slices that went while their service's were being written.
        self._gone: dict[str, set[str]] = {}

    @contextmanager
    def writing(self, service: str) -> Iterator[None]:
        """A service's slices are being written: note which of them go meanwhile."""
        self._gone[service] = set()
        try:
            yield
        finally:
            del self._gone[service]

    def written(self, slice_: V1EndpointSlice) -> None:
        """It was created or updated, and is now as given."""
        uid = slice_.metadata.uid
        if uid not in self._gone.get(service_key(slice_), ()):
            self._of(slice_)[uid] = slice_.metadata.generation or 0

    @contextmanager
    def deleting(self, slice_: V1EndpointSlice) -> Iterator[None]:
        """
        It is being deleted, and is expected to go from the cache.

        If the block raises, it is not expected to any more.
        """
        uid, generations = slice_.metadata.uid, self._of(slice_)
        if uid in self._gone.get(service_key(slice_), ()):
            yield
            return
        before = generations.get(uid)
        generations[uid] = _DELETED
        try:
            yield
        except BaseException:
            if generations.pop(uid, None) is not None and before is not None:
                generations[uid] = before
            raise

    def is_news(self, slice_: V1EndpointSlice) -> bool:
        """Whether somebody else made it, or has changed it since."""
        generation = self._services.get(service_key(slice_), {}).get(slice_.metadata.uid)
        return generation is None or (slice_.metadata.generation or 0) > generation

    def was_unexpected(self, slice_: V1EndpointSlice) -> bool:
        """It is gone. Whether it was one of this controller's that was to stay."""
        key, uid = service_key(slice_), slice_.metadata.uid
        gone = self._gone.get(key)
        if gone is not None:
            gone.add(uid)
        generation = self._services.get(key, {}).pop(uid, _DELETED)
        return generation != _DELETED

    def lost(self, slice_: V1EndpointSlice) -> None:
        """It is somebody else's now, or another service's, and not to be waited for any more."""
        self._services.get(service_key(slice_), {}).pop(slice_.metadata.uid, None)

    def is_stale(self, service: str, slices: Iterable[V1EndpointSlice]) -> bool:
        """Whether a service's slices, as the cache has them, are from before the last write."""
        generations = self._services.get(service)
        if not generations:
            return False
        shown: set[str] = set()
        for slice_ in slices:
            meta = slice_.metadata
            shown.add(meta.uid)
            generation = generations.get(meta.uid)
            if generation is not None and (generation == _DELETED or generation > (meta.generation or 0)):
                return True
        return any(generation != _DELETED and uid not in shown for uid, generation in generations.items())

    def expected(self, service: str) -> set[str]:
        """The uids of what is known of a service's slices, those that are expected to go included."""
        return set(self._services.get(service, ()))

    def forget(self, service: str) -> None:
        """The service is gone, or what is known of its slices is not to be trusted any more."""
        self._services.pop(service, None)

    def _of(self, slice_: V1EndpointSlice) -> dict[str, int]:
        return self._services.setdefault(service_key(slice_), {})
