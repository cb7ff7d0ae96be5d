"""Selection: an index of the pods that each service selects, and of the services that select each pod.

Most services of a namespace select by the same few label keys. For each such set of keys there is a table. It has the
services by the values that they ask for, and the pods by the values that they have. So a service's pods are found with
one look-up, and a pod's services with one look-up for each set of keys in its namespace. Without the index, 1,000
services and 20,000 pods would need 20 million comparisons before the first endpoint is written.

The event handlers keep the index, and queue a service when it or one of its pods changes. A service's own change is
synced at once. Changes of pods may wait for the batch period: however many pods of a service change during that time,
the service is synced once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import itemgetter
from typing import Any

from kinformer.cache import Deleted, deletion_handling_key
from kinformer.models import V1Pod, V1Service
from kinformer.workqueue import DelayingQueue
from kinformer_controllers.shared.services.pod import EndpointPod, EndpointPods, differs

__all__ = (
    "PodHandler",
    "Selection",
    "ServiceHandler",
)


class _Table:
    """The services whose selectors have the same keys, and the pods that have all of these labels."""

    __slots__ = ("pods", "services", "values_of")

    def __init__(self, keys: tuple[str, ...]) -> None:
        #: Returns the labels' values: one value for one key, a tuple for several. Raises KeyError if a key is missing.
        self.values_of: Callable[[Mapping[str, str]], Any] = itemgetter(*keys)
        self.services: dict[Any, dict[str, None]] = {}
        self.pods: dict[Any, dict[str, EndpointPod]] = {}

    def add(self, pod: EndpointPod) -> None:
        try:
            values = self.values_of(pod.labels)
        except KeyError:
            return
        group = self.pods.get(values)
        if group is None:
            group = self.pods[values] = {}
        group[pod.key] = pod

    def remove(self, pod: EndpointPod) -> None:
        try:
            values = self.values_of(pod.labels)
        except KeyError:
            return
        group = self.pods[values]
        del group[pod.key]
        if not group:
            del self.pods[values]


class _Namespace:
    __slots__ = ("pods", "tables")

    def __init__(self) -> None:
        self.pods: dict[str, EndpointPod] = {}
        self.tables: dict[tuple[str, ...], _Table] = {}


class Selection:
    """
    The index. Event handlers update it. It is only used in the thread of the event loop.

    Keys are ``namespace/name``.
    """

    def __init__(self) -> None:
        self._namespaces: dict[str, _Namespace] = {}
        self._selectors: dict[str, tuple[_Namespace, tuple[str, ...], Any, Mapping[str, str]]] = {}

    def set_service(self, key: str, selector: Mapping[str, str] | None) -> None:
        """Add or change a service. One without a selector selects nothing, and is not kept."""
        known = self._selectors.get(key)
        if known is not None:
            if known[3] == selector:
                return
            self.drop_service(key)
        if not selector:
            return
        namespace = self._namespace(key.partition("/")[0])
        keys = tuple(sorted(selector))
        table = namespace.tables.get(keys)
        if table is None:
            table = namespace.tables[keys] = _Table(keys)
            for pod in namespace.pods.values():
                table.add(pod)
        values = table.values_of(selector)
        table.services.setdefault(values, {})[key] = None
        self._selectors[key] = (namespace, keys, values, selector)

    def drop_service(self, key: str) -> None:
        """Remove a service, if it is there."""
        known = self._selectors.pop(key, None)
        if known is None:
            return
        namespace, keys, values, _ = known
        services = namespace.tables[keys].services
        del services[values][key]
        if not services[values]:
            del services[values]
            if not services:
                del namespace.tables[keys]
        self._tidy(key.partition("/")[0])

    def set_pod(self, pod: EndpointPod) -> EndpointPod | None:
        """Add or change a pod. Returns its former value, or None."""
        namespace = self._namespace(pod.namespace)
        before = namespace.pods.get(pod.key)
        namespace.pods[pod.key] = pod
        # A pod whose labels stay the same keeps its place: pods are in the order in which they were added.
        moved = before is not None and before.labels != pod.labels
        for table in namespace.tables.values():
            if moved and before is not None:
                table.remove(before)
            table.add(pod)
        return before

    def drop_pod(self, key: str) -> EndpointPod | None:
        """Remove a pod. Returns its last value; None if it was not there."""
        namespace = self._namespaces.get(key.partition("/")[0])
        pod = namespace.pods.pop(key, None) if namespace is not None else None
        if namespace is None or pod is None:
            return None
        for table in namespace.tables.values():
            table.remove(pod)
        self._tidy(pod.namespace)
        return pod

    def services_of(self, pod: EndpointPod) -> list[str]:
        """Return the keys of the services that select a pod with these labels."""
        namespace = self._namespaces.get(pod.namespace)
        found: list[str] = []
        if namespace is None:
            return found
        for table in namespace.tables.values():
            try:
                services = table.services.get(table.values_of(pod.labels))
            except KeyError:
                continue
            if services:
                found.extend(services)
        return found

    def pods_of(self, key: str, selector: Mapping[str, str]) -> Collection[EndpointPod] | None:
        """
        Return the pods that a service selects: a view, which the caller must read before it awaits anything.

        :param selector: the service's selector in the caller's version of the service
        :return: None if the index does not have the service with that selector yet. Its event handler will add it and
            queue the service again. Until then, the pods of the old selector would be wrong
        """
        known = self._selectors.get(key)
        if known is None or known[3] != selector:
            return None
        namespace, keys, values, _ = known
        pods = namespace.tables[keys].pods.get(values)
        return pods.values() if pods is not None else ()

    def _namespace(self, name: str) -> _Namespace:
        namespace = self._namespaces.get(name)
        if namespace is None:
            namespace = self._namespaces[name] = _Namespace()
        return namespace

    def _tidy(self, name: str) -> None:
        namespace = self._namespaces[name]
        if not namespace.pods and not namespace.tables:
            del self._namespaces[name]


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
