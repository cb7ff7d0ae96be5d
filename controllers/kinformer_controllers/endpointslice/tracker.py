"""SliceTracker: which generation of which slice this controller has written last, by service.

So it tells its own writes, when they come back through the cache, from what others do to its slices: only the latter
make a service be synced. Whether the cache shows those writes yet is another question, which a generation cannot answer
for a slice that is not there. :mod:`kinformer_controllers.shared.waiting.consistency` answers that one, as it does for
every controller.

The watch may be quicker than the answer to a write. A write that comes back before its answer is taken for news, and
costs a sync; and the slice may be gone before the answer says that it was made, so that the tracker knows a slice that
no event will take away. :meth:`SliceTracker.keep`, called by each sync, forgets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kinformer.models import V1EndpointSlice
from kinformer_controllers.endpointslice.labels import service_key

__all__ = ("SliceTracker",)


class SliceTracker:
    """Generations by slices' uids, by the key of the service that a slice's label names."""

    def __init__(self) -> None:
        self._services: dict[str, dict[str, int]] = {}

    def written(self, slice_: V1EndpointSlice) -> None:
        """It was created or updated, and is now as given."""
        self._services.setdefault(service_key(slice_), {})[slice_.metadata.uid] = slice_.metadata.generation or 0

    @contextmanager
    def deleting(self, slice_: V1EndpointSlice) -> Iterator[None]:
        """
        It is being deleted, and that it goes from the cache is as it should be.

        If the block raises, it is to stay.
        """
        generations = self._services.get(service_key(slice_), {})
        before = generations.pop(slice_.metadata.uid, None)
        try:
            yield
        except BaseException:
            if before is not None:
                generations[slice_.metadata.uid] = before
            raise

    def is_news(self, slice_: V1EndpointSlice) -> bool:
        """Whether somebody else made it, or has changed it since."""
        generation = self._services.get(service_key(slice_), {}).get(slice_.metadata.uid)
        return generation is None or (slice_.metadata.generation or 0) > generation

    def lost(self, slice_: V1EndpointSlice) -> bool:
        """
        It is gone, or is not this service's or this controller's any more.

        :return: whether it was one of this controller's that was to stay
        """
        return self._services.get(service_key(slice_), {}).pop(slice_.metadata.uid, None) is not None

    def keep(self, service: str, slices: Iterable[V1EndpointSlice]) -> None:
        """These are all the slices that a service has: forget the others."""
        generations = self._services.get(service)
        if generations:
            for uid in generations.keys() - {slice_.metadata.uid for slice_ in slices}:
                del generations[uid]

    def expected(self, service: str) -> set[str]:
        """The uids of what is known of a service's slices."""
        return set(self._services.get(service, ()))

    def forget(self, service: str) -> None:
        """The service is gone."""
        self._services.pop(service, None)
