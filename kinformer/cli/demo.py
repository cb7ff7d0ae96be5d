"""``kinformer demo``: a cluster in this process, and what happens in it.

An embedded API server, fake nodes and the controllers are started; manifests are applied; every ReplicationController
among them is scaled up, loses some pods, and is scaled down. Each of these steps is over when every
ReplicationController has exactly the pods that it should have, all of them ready, and has said so in its status.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from kinformer.cache import ProcessorListener, ResourceEventHandlerFuncs
from kinformer.cli.demo_view import DemoView, Row, StepResult
from kinformer.cli.manifests import Manifest, ManifestError, apply_manifests, read_manifests
from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Manager
from kinformer.meta import get_controller_of
from kinformer.models import CoreV1Event, V1Pod, V1ReplicationController

__all__ = ("run",)

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
        cluster = _Cluster(manager.context.informers)
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

    def __init__(self, informers: SharedInformerFactory):
        self._controllers = informers.informer_for(V1ReplicationController)
        self._pods = informers.informer_for(V1Pod)
        self._changed = anyio.Event()
        #: What the controllers told, newest last.
        self.events: list[str] = []
        self._registrations: list[ProcessorListener[Any]] = [
            informer.add_event_handler(ResourceEventHandlerFuncs(self._note, self._note, self._note))
            for informer in (self._controllers, self._pods)
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

    def rows(self) -> list[Row]:
        """Every ReplicationController with its pods, by name."""
        pods: dict[str, list[V1Pod]] = {}
        for pod in self._pods.indexer.list():
            if (owner := get_controller_of(pod)) is not None:
                pods.setdefault(owner.uid, []).append(pod)
        controllers = sorted(self._controllers.indexer.list(), key=lambda rc: (rc.metadata.namespace, rc.metadata.name))
        return [Row.of(rc, pods.get(rc.metadata.uid, [])) for rc in controllers]

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


@dataclass(frozen=True, slots=True)
class _Step:
    """
    :param wanted: is told what is there; whether that is what was to come of it
    """

    title: str
    act: Callable[[], Awaitable[None]]
    wanted: Callable[[Sequence[Row]], bool]


def _steps(client: Client, cluster: _Cluster, objects: list[Manifest]) -> Iterator[_Step]:
    controllers = client.resource(V1ReplicationController)
    pods = client.resource(V1Pod)
    expected = sum(manifest.obj["kind"] == "ReplicationController" for manifest in objects)

    async def apply() -> None:
        await apply_manifests(client, objects)

    def scale(change: Callable[[int], int]) -> Callable[[], Awaitable[None]]:
        async def act() -> None:
            for row in cluster.rows():
                wanted = {"spec": {"replicas": change(row.desired)}}
                await controllers.patch(row.name, wanted, row.namespace)
                targets[row.uid] = change(row.desired)

        return act

    async def lose_some() -> None:
        for row in cluster.rows():
            for pod in list(cluster.pods_of(row))[: max(row.desired // 4, 1)]:
                await pods.delete(pod.metadata.name, pod.metadata.namespace)
                lost.add(pod.metadata.uid)

    targets: dict[str, int] = {}
    lost: set[str] = set()

    def scaled(rows: Sequence[Row]) -> bool:
        return all(row.desired == targets.get(row.uid, row.desired) and row.converged for row in rows)

    def replaced(rows: Sequence[Row]) -> bool:
        return scaled(rows) and not any(pod.metadata.uid in lost for row in rows for pod in cluster.pods_of(row))

    yield _Step(f"apply {len(objects)} objects", apply, lambda rows: len(rows) >= expected and scaled(rows))
    if expected:
        yield _Step("scale to four times as many", scale(lambda replicas: replicas * 4), scaled)
        yield _Step("delete a quarter of the pods", lose_some, replaced)
        yield _Step("scale down to two", scale(lambda _: 2), scaled)


async def _take(step: _Step, cluster: _Cluster, view: DemoView, timeout: float) -> StepResult:
    """Do a step, and wait for what is to come of it."""
    before = sum(row.current for row in cluster.rows())
    view.begin(step.title)
    began = time.perf_counter()
    converged = False
    with anyio.move_on_after(timeout):
        await step.act()
        while not (converged := step.wanted(cluster.rows())):
            await cluster.wait_changed()
    after = sum(row.current for row in cluster.rows())
    result = StepResult(step.title, before, after, time.perf_counter() - began, converged)
    view.draw(cluster.rows(), cluster.events)
    view.end(result, cluster.rows())
    return result


async def _show(view: DemoView, cluster: _Cluster) -> None:
    while True:
        view.draw(cluster.rows(), cluster.events)
        await cluster.wait_changed()
        await anyio.sleep(_FRAME)
