"""``kinformer demo``: a cluster in this process, and what happens in it.

An embedded API server, fake nodes and the controllers are started; manifests are applied; every ReplicationController
among them is scaled up, loses some pods, and is scaled down. Each of these steps is over when every
ReplicationController has exactly the pods that it should have, all of them ready, and has said so in its status; every
ResourceQuota has counted them, and the Endpoints of every Service have their addresses.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio

from kinformer.cache import ProcessorListener, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cli.demo_view import DemoView, Gauge, Row, Scene, StepResult, is_ready
from kinformer.cli.manifests import Manifest, ManifestError, apply_manifests, read_manifests
from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Manager
from kinformer.meta import get_controller_of, selector_from_set
from kinformer.models import CoreV1Event, V1Endpoints, V1Pod, V1ReplicationController, V1ResourceQuota, V1Service

__all__ = ("run",)

T = TypeVar("T")

#: Seconds between two pictures.
_FRAME = 0.1


async def run(*, manifests: Path | None, nodes: int, timeout: float) -> int:
    """
    Show it all.

    :param manifests: what to apply; the documentation's examples if None
    :param timeout: seconds that each step may take
    :return: 0 if every step converged, else 1
    :raises ManifestError: if a manifest cannot be read or applied
    """
    objects = read_manifests(manifests or _examples())
    view = DemoView()
    started = time.perf_counter()
    async with (
        ApiServer() as server,
        connect(url=server.url, token=server.token) as client,
        anyio.create_task_group() as tasks,
    ):
        agent = FakeNodes(client, nodes)
        manager = Manager(client)
        cluster = _Cluster(manager.context.informers, manager.controllers)
        tasks.start_soon(agent.run)
        tasks.start_soon(manager.run)
        await agent.wait_registered()
        await cluster.wait_synced()
        view.say(
            f"API server at {server.url}, {nodes} fake nodes and the controllers {', '.join(manager.controllers)} "
            f"are up after {time.perf_counter() - started:.2f} s"
        )
        with view:
            tasks.start_soon(_show, view, cluster)
            results = [await _take(step, cluster, view, timeout) for step in _steps(client, cluster, objects)]
        tasks.cancel_scope.cancel()
    view.summary(results, server.storage.version, time.perf_counter() - started)
    return 0 if all(result.converged for result in results) else 1


def _examples() -> Path:
    """The documentation's examples: beside this module where the package is installed, else in the checkout."""
    here = Path(__file__).resolve()
    for folder in (here.with_name("examples"), here.parents[2] / "docs" / "examples"):
        if folder.is_dir():
            return folder
    raise ManifestError("the examples of the documentation are not installed: name a file with --manifests")


class _Cluster:
    """What the demo sees of the cluster, through the controllers' own informers."""

    def __init__(self, informers: SharedInformerFactory, running: Collection[str]):
        self._running = running
        self._controllers = informers.informer_for(V1ReplicationController)
        self._pods = informers.informer_for(V1Pod)
        self._quotas = informers.informer_for(V1ResourceQuota)
        self._services = informers.informer_for(V1Service)
        self._endpoints = informers.informer_for(V1Endpoints)
        self._changed = anyio.Event()
        #: What the controllers told, newest last.
        self.events: list[str] = []
        self._registrations: list[ProcessorListener[Any]] = [
            informer.add_event_handler(ResourceEventHandlerFuncs(self._note, self._note, self._note))
            for informer in (self._controllers, self._pods, self._quotas, self._endpoints)
        ]
        self._registrations.append(
            informers.informer_for(CoreV1Event).add_event_handler(ResourceEventHandlerFuncs(self._tell))
        )

    async def wait_synced(self) -> None:
        for registration in self._registrations:
            await registration.wait_synced()

    async def wait_changed(self) -> None:
        """Return when something is other than it was when this was called."""
        await self._changed.wait()

    def scene(self) -> Scene:
        """What is there now, by name."""
        pods: dict[str, list[V1Pod]] = {}
        for pod in self._pods.indexer.list():
            if (owner := get_controller_of(pod)) is not None:
                pods.setdefault(owner.uid, []).append(pod)
        rows = [Row.of(rc, pods.get(rc.metadata.uid, [])) for rc in _by_name(self._controllers)]
        return Scene(rows, [*self._quota_gauges(), *self._service_gauges()])

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


@dataclass(frozen=True, slots=True)
class _Step:
    """
    :param wanted: is told what is there; whether that is what was to come of it
    """

    title: str
    act: Callable[[], Awaitable[None]]
    wanted: Callable[[Scene], bool]


def _steps(client: Client, cluster: _Cluster, objects: list[Manifest]) -> Iterator[_Step]:
    controllers = client.resource(V1ReplicationController)
    pods = client.resource(V1Pod)
    expected = sum(manifest.obj["kind"] == "ReplicationController" for manifest in objects)

    async def apply() -> None:
        await apply_manifests(client, objects)

    def scale(change: Callable[[int], int]) -> Callable[[], Awaitable[None]]:
        async def act() -> None:
            for row in cluster.scene().rows:
                wanted = {"spec": {"replicas": change(row.desired)}}
                await controllers.patch(row.name, wanted, row.namespace)
                targets[row.uid] = change(row.desired)

        return act

    async def lose_some() -> None:
        for row in cluster.scene().rows:
            for pod in list(cluster.pods_of(row))[: max(row.desired // 4, 1)]:
                await pods.delete(pod.metadata.name, pod.metadata.namespace)
                lost.add(pod.metadata.uid)

    targets: dict[str, int] = {}
    lost: set[str] = set()

    def scaled(scene: Scene) -> bool:
        return scene.converged and all(row.desired == targets.get(row.uid, row.desired) for row in scene.rows)

    def replaced(scene: Scene) -> bool:
        return scaled(scene) and not any(pod.metadata.uid in lost for row in scene.rows for pod in cluster.pods_of(row))

    def applied(scene: Scene) -> bool:
        return len(scene.rows) >= expected and scaled(scene)

    yield _Step(f"apply {len(objects)} objects", apply, applied)
    if expected:
        yield _Step("scale to four times as many", scale(lambda replicas: replicas * 4), scaled)
        yield _Step("delete a quarter of the pods", lose_some, replaced)
        yield _Step("scale down to two", scale(lambda _: 2), scaled)


async def _take(step: _Step, cluster: _Cluster, view: DemoView, timeout: float) -> StepResult:
    """Do a step, and wait for what is to come of it."""
    before = cluster.scene().pods
    view.begin(step.title)
    began = time.perf_counter()
    converged = False
    with anyio.move_on_after(timeout):
        await step.act()
        while not (converged := step.wanted(cluster.scene())):
            await cluster.wait_changed()
    scene = cluster.scene()
    result = StepResult(step.title, before, scene.pods, time.perf_counter() - began, converged)
    view.draw(scene, cluster.events)
    view.end(result, scene)
    return result


async def _show(view: DemoView, cluster: _Cluster) -> None:
    while True:
        view.draw(cluster.scene(), cluster.events)
        await cluster.wait_changed()
        await anyio.sleep(_FRAME)
