"""Which slices are this controller's, and which of their changes other clients have made.

A slice's labels name its service and its controller. :class:`SliceTracker` knows the generations of the slices that
this controller has last written, by service. With them the event handler tells events of the controller's own writes
from events of other clients' writes. Only the latter queue a service. The tracker does not say whether the cache
already shows a write: for a slice that is not in the cache there is no generation to compare.
:mod:`kinformer.controllerutil.consistency` does that.

The watch event of a write may come before the answer to the write. Such an event counts as another client's, which
costs one sync. The slice may even be deleted before the answer comes; then the tracker has a slice for which no event
will follow. :meth:`SliceTracker.keep`, which each sync calls, removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from kinformer.cache import Deleted, last_state
from kinformer.models import V1EndpointSlice, V1Service
from kinformer.workqueue import DelayingQueue
from kinformer_controllers.endpointslice.endpoints import SliceViews
from kinformer_controllers.shared.services.service import HEADLESS_LABEL, has_cluster_ip

__all__ = (
    "MIN_SYNC_DELAY",
    "SliceHandler",
    "SliceTracker",
    "is_managed",
    "needs_labels",
    "service_key",
    "wanted_labels",
)

_SERVICE_LABEL = "kubernetes.io/service-name"
_MANAGED_BY_LABEL = "endpointslice.kubernetes.io/managed-by"
#: The value of :data:`_MANAGED_BY_LABEL` on slices that this controller made.
_MANAGED_BY = "endpointslice-controller.k8s.io"

_RESERVED = (_SERVICE_LABEL, _MANAGED_BY_LABEL, HEADLESS_LABEL)

#: The least number of seconds between another client's write of a slice and the sync: it may be writing many slices.
MIN_SYNC_DELAY = 1.0


def _labels_of(slice_: V1EndpointSlice) -> Mapping[str, str]:
    labels: Mapping[str, str] | None = slice_.metadata.labels
    return labels or {}


def is_managed(slice_: V1EndpointSlice) -> bool:
    """Whether this controller manages the slice."""
    return _labels_of(slice_).get(_MANAGED_BY_LABEL) == _MANAGED_BY


def service_key(slice_: V1EndpointSlice) -> str:
    """Return the key of the service in a slice's label. The name is empty if the slice has no such label."""
    return f"{slice_.metadata.namespace}/{_labels_of(slice_).get(_SERVICE_LABEL, '')}"


def wanted_labels(service: V1Service) -> dict[str, str]:
    """Return the labels for a service's slices."""
    labels = _of_users(service.metadata.labels)
    if not has_cluster_ip(service):
        labels[HEADLESS_LABEL] = ""
    labels[_SERVICE_LABEL] = service.metadata.name
    labels[_MANAGED_BY_LABEL] = _MANAGED_BY
    return labels


def needs_labels(slice_: V1EndpointSlice, service: V1Service) -> bool:
    """Whether a slice must be written because its labels differ. The reserved labels are not compared."""
    return _of_users(_labels_of(slice_)) != _of_users(service.metadata.labels)


def _of_users(labels: Mapping[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (labels or {}).items() if key not in _RESERVED}


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


class SliceHandler:
    """
    The event handler for slices.

    :param views: gets the view of each slice
    :param batch_period: how long a service waits for further changes, in seconds, if longer than the minimum
    """

    def __init__(
        self,
        queue: DelayingQueue[str],
        tracker: SliceTracker,
        views: SliceViews,
        batch_period: float,
    ) -> None:
        self._queue = queue
        self._tracker = tracker
        self._views = views
        self._delay = max(batch_period, MIN_SYNC_DELAY)

    def on_add(self, slice_: V1EndpointSlice, is_in_initial_list: bool, /) -> None:
        if is_managed(slice_):
            self._views.of(slice_)
            if self._tracker.is_news(slice_):
                self._enqueue(slice_)

    def on_update(self, old: V1EndpointSlice, new: V1EndpointSlice, /) -> None:
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
        self._views.forget(known)
        if is_managed(known) and self._tracker.lost(known):
            self._enqueue(known)

    def _enqueue(self, slice_: V1EndpointSlice) -> None:
        key = service_key(slice_)
        if not key.endswith("/"):  # it has the label with the service's name
            self._queue.add_after(key, self._delay)
