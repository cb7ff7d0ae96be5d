"""The state of the demo's cluster, read from the caches of the controllers' own informers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, TypeVar

import anyio

from kinformer.cache import ProcessorListener, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cli.demo_rollout import Rollout
from kinformer.cli.demo_view import Gauge, Row, Scene, is_ready
from kinformer.informers import SharedInformerFactory
from kinformer.meta import GroupVersionResource, get_controller_of, selector_from_set
from kinformer.models import (
    CoreV1Event,
    V1Deployment,
    V1Endpoints,
    V1Pod,
    V1ReplicationController,
    V1ResourceQuota,
    V1Service,
)

__all__ = ("GROUP_QUOTAS", "Cluster")

T = TypeVar("T")

#: The resource whose limits the quota webhook enforces.
GROUP_QUOTAS = GroupVersionResource("quota.kinformer.dev", "v1", "groupquotas")


class Cluster:
    """
    The objects that the demo shows.

    :param informers: the factory of the informers that the controllers use
    :param running: the names of the controllers that run; objects of other controllers are not shown
    """

    def __init__(self, informers: SharedInformerFactory, running: Collection[str]):
        self._informers = informers
        self._running = running
        self._controllers = informers.informer_for(V1ReplicationController)
        self._pods = informers.informer_for(V1Pod)
        self._quotas = informers.informer_for(V1ResourceQuota)
        self._services = informers.informer_for(V1Service)
        self._endpoints = informers.informer_for(V1Endpoints)
        self._deployments = informers.informer_for(V1Deployment)
        self._group_quotas: SharedIndexInformer[dict[str, Any]] | None = None
        self._changed = anyio.Event()
        #: The Events that the controllers recorded, one line each, newest last.
        self.events: list[str] = []
        self._registrations: list[ProcessorListener[Any]] = [
            informer.add_event_handler(ResourceEventHandlerFuncs(self._note, self._note, self._note))
            for informer in (self._controllers, self._deployments, self._pods, self._quotas, self._endpoints)
        ]
        self._registrations.append(
            informers.informer_for(CoreV1Event).add_event_handler(ResourceEventHandlerFuncs(self._tell))
        )

    async def wait_synced(self) -> None:
        for registration in self._registrations:
            await registration.wait_synced()

    async def show_group_quotas(self) -> None:
        """Show GroupQuotas from now on. The server must know the kind: its CustomResourceDefinition is applied."""
        self._group_quotas = self._informers.informer_for(dict, GROUP_QUOTAS, namespaced=False)
        self._group_quotas.add_event_handler(ResourceEventHandlerFuncs(self._note, self._note, self._note))
        self._informers.start()
        await self._group_quotas.wait_synced()

    async def wait_changed(self) -> None:
        """Return after the next change of a shown object, or the next Event."""
        await self._changed.wait()

    def scene(self) -> Scene:
        """The current state, sorted by name."""
        pods: dict[str, list[V1Pod]] = {}
        for pod in self._pods.indexer.list():
            if (owner := get_controller_of(pod)) is not None:
                pods.setdefault(owner.uid, []).append(pod)
        rows = [Row.of(rc, pods.get(rc.metadata.uid, [])) for rc in _by_name(self._controllers)]
        runs = {"deployment", "replicaset"}.issubset(self._running)
        rollouts = [Rollout.of(each) for each in _by_name(self._deployments)] if runs else []
        return Scene(rows, [*self._quota_gauges(), *self._service_gauges()], list(self._group_gauges()), rollouts)

    def _quota_gauges(self) -> Iterator[Gauge]:
        for quota in _by_name(self._quotas) if "resourcequota" in self._running else ():
            limit = (quota.spec.hard or {}).get("pods")
            if limit is not None:
                namespace = quota.metadata.namespace
                there = sum(pod.metadata.namespace == namespace for pod in self._pods.indexer.list())
                used = (quota.status.used or {}).get("pods", "0") if quota.status is not None else "0"
                yield Gauge(f"quota {namespace}/{quota.metadata.name} pods", int(used), there, int(limit))

    def _service_gauges(self) -> Iterator[Gauge]:
        for service in _by_name(self._services) if "endpoint" in self._running else ():
            selector = selector_from_set(service.spec.selector or {})
            if selector.is_empty:
                continue
            namespace, name = service.metadata.namespace, service.metadata.name
            ready = sum(
                pod.metadata.namespace == namespace and selector.matches(pod.metadata.labels) and is_ready(pod)
                for pod in self._pods.indexer.list()
                if pod.metadata.deletion_timestamp is None
            )
            endpoints = self._endpoints.indexer.get_by_key(f"{namespace}/{name}")
            subsets = (endpoints.subsets or []) if endpoints is not None else []
            told = sum(len(subset.addresses or []) for subset in subsets)
            yield Gauge(f"service {namespace}/{name} addresses", told, ready)

    def _group_gauges(self) -> Iterator[Gauge]:
        for quota in _by_name(self._group_quotas) if self._group_quotas is not None else ():
            application, limit = quota["spec"].get("application"), quota["spec"]["hard"].get("pods")
            if application is None or limit is None:
                continue
            label, name = application.get("label", "app.kubernetes.io/part-of"), application["name"]
            there = sum((pod.metadata.labels or {}).get(label) == name for pod in self._pods.indexer.list())
            used = quota.get("status", {}).get("used", {}).get("pods", "0")
            yield Gauge(f"group quota {quota['metadata']['name']} pods", int(used), there, int(limit))

    def pods_of(self, row: Row) -> Iterator[V1Pod]:
        return (
            pod
            for pod in self._pods.indexer.list()
            if (owner := get_controller_of(pod)) is not None and owner.uid == row.uid
        )

    def _note(self, *_: object) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def _tell(self, event: CoreV1Event) -> None:
        about = event.involved_object
        self.events.append(f"{event.reason}  {about.kind} {about.name}  {event.message}")
        self._note()


def _by_name(informer: SharedIndexInformer[T]) -> list[T]:
    key_of = informer.indexer.key_of
    return sorted(informer.indexer.list(), key=key_of)
