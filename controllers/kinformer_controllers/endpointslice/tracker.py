"""SliceTracker: the generations of the slices that this controller has last written, by service.

With them the event handler tells events of the controller's own writes from events of other clients' writes. Only the
latter queue a service. The tracker does not say whether the cache already shows a write: for a slice that is not in the
cache there is no generation to compare. :mod:`kinformer.controllerutil.consistency` does that.

The watch event of a write may come before the answer to the write. Such an event counts as another client's, which
costs one sync. The slice may even be deleted before the answer comes; then the tracker has a slice for which no event
will follow. :meth:`SliceTracker.keep`, which each sync calls, removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kinformer.models import V1EndpointSlice
from kinformer_controllers.endpointslice.labels import service_key

__all__ = ("SliceTracker",)


class SliceTracker:
    """The generations by the slices' uids, by the key of their service."""

    def __init__(self) -> None:
        self._services: dict[str, dict[str, int]] = {}

    def written(self, slice_: V1EndpointSlice) -> None:
        """Note that a slice was created or updated."""
        self._services.setdefault(service_key(slice_), {})[slice_.metadata.uid] = slice_.metadata.generation or 0

    @contextmanager
    def deleting(self, slice_: V1EndpointSlice) -> Iterator[None]:
        """
        Note that this controller deletes a slice in this block, so that the event of its deletion does not count.

        If the block raises an error, the slice is tracked again.
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
        """Whether another client has created the slice, or has changed it since the last write."""
        generation = self._services.get(service_key(slice_), {}).get(slice_.metadata.uid)
        return generation is None or (slice_.metadata.generation or 0) > generation

    def lost(self, slice_: V1EndpointSlice) -> bool:
        """
        Stop tracking a slice that is gone, or that no longer belongs to this service or this controller.

        :return: whether it was tracked, so that its loss is news
        """
        return self._services.get(service_key(slice_), {}).pop(slice_.metadata.uid, None) is not None

    def keep(self, service: str, slices: Iterable[V1EndpointSlice]) -> None:
        """Forget all slices of a service except these."""
        generations = self._services.get(service)
        if generations:
            for uid in generations.keys() - {slice_.metadata.uid for slice_ in slices}:
                del generations[uid]

    def expected(self, service: str) -> set[str]:
        """Return the uids of a service's tracked slices."""
        return set(self._services.get(service, ()))

    def forget(self, service: str) -> None:
        """Forget a service that is gone."""
        self._services.pop(service, None)
