"""Event handlers that queue a service when it changes, or when a pod that it selects changes.

A service's own change is synced at once. Changes of pods may wait for the batch period: however many pods of a service
change during that time, the service is synced once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from kinformer.cache import Deleted, deletion_handling_key
from kinformer.models import V1Pod, V1Service
from kinformer.workqueue import DelayingQueue
from kinformer_controllers.shared.services.pod import EndpointPod, EndpointPods, differs
from kinformer_controllers.shared.services.selection import Selection

__all__ = ("PodHandler", "ServiceHandler")


class ServiceHandler:
    """The event handler for services. It updates the selection, and queues each service that changes."""

    def __init__(self, queue: DelayingQueue[str], selection: Selection) -> None:
        self._queue = queue
        self._selection = selection

    def on_add(self, service: V1Service, is_in_initial_list: bool, /) -> None:
        meta, spec = service.metadata, service.spec
        key = f"{meta.namespace}/{meta.name}"
        self._selection.set_service(key, spec.selector if spec is not None else None)
        self._queue.add(key)

    def on_update(self, old: V1Service, new: V1Service, /) -> None:
        self.on_add(new, False)

    def on_delete(self, service: Deleted[V1Service], /) -> None:
        key = deletion_handling_key(service)
        self._selection.drop_service(key)
        self._queue.add(key)


class PodHandler:
    """
    The event handler for pods. It updates the selection, and queues the services that a change concerns.

    :param pods: the :class:`EndpointPods` of the informer that this handler is added to
    :param batch_period: how long a service waits for further changes of its pods, in seconds
    """

    def __init__(
        self, queue: DelayingQueue[str], selection: Selection, pods: EndpointPods, batch_period: float
    ) -> None:
        self._queue = queue
        self._pods = pods
        self._selection = selection
        self._batch_period = batch_period

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        now = self._pods.read(pod)
        self._changed(self._selection.set_pod(now), now)

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        if new.metadata.resource_version == old.metadata.resource_version:
            return  # a resync; services have their own
        now = self._pods.read(new)
        self._changed(self._selection.set_pod(now), now)

    def on_delete(self, pod: Deleted[V1Pod], /) -> None:
        key = deletion_handling_key(pod)
        gone = self._selection.drop_pod(key)
        if gone is not None:
            self._pods.forget(gone)
            self._enqueue(self._selection.services_of(gone))

    def _changed(self, before: EndpointPod | None, now: EndpointPod) -> None:
        services = self._selection.services_of(now)
        if before is None:
            self._enqueue(services)
            return
        changed = differs(before, now)
        if before.labels != now.labels:
            past = self._selection.services_of(before)
            # If only labels changed, a service that selects the pod before and after need not be synced.
            concerned = set(services) | set(past) if changed else set(services) ^ set(past)
            self._enqueue(concerned)
        elif changed:
            self._enqueue(services)

    def _enqueue(self, services: Iterable[str]) -> None:
        if not self._batch_period:
            for key in services:
                self._queue.add(key)
            return
        for key in services:
            self._queue.add_after(key, self._batch_period)
