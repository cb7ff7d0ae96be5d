"""The event handler for slices. It queues a service if another client has created, changed or deleted its slice."""

from __future__ import annotations

from kinformer.cache import Deleted, last_state
from kinformer.controllerutil.consistency import ConsistencyStore
from kinformer.models import V1EndpointSlice
from kinformer.workqueue import DelayingQueue
from kinformer_controllers.endpointslice.endpoints import SliceViews
from kinformer_controllers.endpointslice.labels import is_managed, service_key
from kinformer_controllers.endpointslice.tracker import SliceTracker

__all__ = ("MIN_SYNC_DELAY", "SliceHandler")

#: The least number of seconds between another client's write of a slice and the sync: it may be writing many slices.
MIN_SYNC_DELAY = 1.0


class SliceHandler:
    """
    The event handler for slices.

    :param views: gets the view of each slice
    :param seen: knows the services that wait until the cache shows their last write
    :param batch_period: how long a service waits for further changes, in seconds, if longer than the minimum
    """

    def __init__(
        self,
        queue: DelayingQueue[str],
        tracker: SliceTracker,
        views: SliceViews,
        seen: ConsistencyStore,
        batch_period: float,
    ) -> None:
        self._queue = queue
        self._tracker = tracker
        self._views = views
        self._delay = max(batch_period, MIN_SYNC_DELAY)
        self._seen = seen

    def on_add(self, slice_: V1EndpointSlice, is_in_initial_list: bool, /) -> None:
        self._wake(slice_)
        if is_managed(slice_):
            self._views.of(slice_)
            if self._tracker.is_news(slice_):
                self._enqueue(slice_)

    def on_update(self, old: V1EndpointSlice, new: V1EndpointSlice, /) -> None:
        self._wake(new)
        if is_managed(new):
            self._views.of(new)
        if service_key(old) != service_key(new):
            # Another client has assigned it to another service.
            self._tracker.lost(old)
            self._enqueue(new)
            self._enqueue(old)
        elif is_managed(old) != is_managed(new):
            # Another client has changed the label that says who manages it. (Kubernetes would still wait for it.)
            self._tracker.lost(old)
            self._enqueue(new)
        elif is_managed(new) and new.metadata.deletion_timestamp is not None:
            # Another client has deleted it, and it still exists because of a finalizer. It no longer counts as a slice
            # of the service. (Kubernetes waits until it is gone.)
            if self._tracker.lost(new):
                self._enqueue(new)
        elif is_managed(new) and self._tracker.is_news(new):
            self._enqueue(new)

    def on_delete(self, slice_: Deleted[V1EndpointSlice], /) -> None:
        known = last_state(slice_)
        if known is None:
            return
        self._wake(known)
        self._views.forget(known)
        if is_managed(known) and self._tracker.lost(known):
            self._enqueue(known)

    def _wake(self, slice_: V1EndpointSlice) -> None:
        key = service_key(slice_)
        if self._seen.caught_up(key):
            self._queue.add(key)

    def _enqueue(self, slice_: V1EndpointSlice) -> None:
        key = service_key(slice_)
        if not key.endswith("/"):  # it has the label with the service's name
            self._queue.add_after(key, self._delay)
