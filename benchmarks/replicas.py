"""The cost of ReplicationControllers, and of Deployments with their ReplicaSets.

The embedded API server and its fake nodes run in another process. The CPU time is that of this process, which has the
client, the informers and the controllers.

- ``scaling``: one object is scaled from 0 to many replicas and back, without nodes, until its status says so;
- ``roll-out``: many Deployments of three pods are made. Then all get a new template at once, until each roll-out is
  complete;
- ``laptop``: many Deployments of one pod on 1,000 fake nodes, until each pod is available.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio

from kinformer.bench.measure import Stopwatch
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import api_server, at_once
from kinformer.client import PatchType, Resource, connect
from kinformer.envtest import eventually
from kinformer.manager import Manager
from kinformer.models import V1Deployment, V1Lease, V1ReplicationController, from_dict

NAMESPACE = "default"
_REPLICATION, _DEPLOYMENT = "a ReplicationController", "a Deployment"
_CONTROLLERS = {_REPLICATION: ("replicationcontroller",), _DEPLOYMENT: ("deployment", "replicaset")}


def make(kind: str, name: str, replicas: int) -> Any:
    labels = {"app": name}
    pod = {"containers": [{"name": "c", "image": "img:1"}], "terminationGracePeriodSeconds": 0}
    selector: dict[str, Any] = labels if kind == _REPLICATION else {"matchLabels": labels}
    type_: type[Any] = V1ReplicationController if kind == _REPLICATION else V1Deployment
    spec = {"replicas": replicas, "selector": selector, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return from_dict(type_, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})


class Watching:
    """Waits until the manager's cache shows that objects of a kind are as they should be."""

    def __init__(self, manager: Manager, type_: type[Any]) -> None:
        self._waiting: set[str] = set()
        self._done = anyio.Event()
        self._is_done: Callable[[Any], bool] = lambda obj: True
        manager.context.informers.informer_for(type_).add_event_handler(self)

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self.on_update(obj, obj)

    def on_update(self, old: Any, new: Any, /) -> None:
        name = new.metadata.name
        if name not in self._waiting or new.status is None:
            return
        if new.status.observed_generation == new.metadata.generation and self._is_done(new):
            self._waiting.discard(name)
            if not self._waiting:
                self._done.set()

    def on_delete(self, obj: Any, /) -> None:
        """No object is deleted while this runs."""

    @asynccontextmanager
    async def until(self, names: Iterable[str], is_done: Callable[[Any], bool]) -> AsyncIterator[None]:
        """At the end of the block, wait until all these objects are done and their statuses are about their spec."""
        self._waiting, self._is_done, self._done = set(names), is_done, anyio.Event()
        yield
        await self._done.wait()


@asynccontextmanager
async def managed(kubeconfig: Path, kind: str) -> AsyncIterator[tuple[Resource[Any], Watching]]:
    """Run a manager with the controllers of a kind while the block runs."""
    type_ = type(make(kind, "none", 0))
    async with connect(kubeconfig=kubeconfig) as client, anyio.create_task_group() as tasks:
        manager = Manager(client, controllers=_CONTROLLERS[kind])
        watching = Watching(manager, type_)
        tasks.start_soon(manager.run)
        yield client.resource(type_), watching
        tasks.cancel_scope.cancel()


@contextmanager
def timed(figures: Figures, what: str, pods: int) -> Iterator[None]:
    watch = Stopwatch()
    yield
    figures[f"{what} s"], figures[f"{what} ms CPU/pod"] = round(watch.wall, 2), round(watch.cpu / pods * 1e3, 3)


def _has(replicas: int) -> Callable[[Any], bool]:
    return lambda obj: (obj.status.replicas or 0) == replicas


def _is_complete(replicas: int) -> Callable[[Any], bool]:
    def check(obj: Any) -> bool:
        status = obj.status
        return bool(status.updated_replicas == status.available_replicas == status.replicas == replicas)

    return check


async def scaling(kind: str, replicas: int) -> Figures:
    figures: Figures = {}
    with api_server() as kubeconfig:
        async with managed(kubeconfig, kind) as (resource, watching):
            with timed(figures, "up", replicas):
                async with watching.until(["web"], _has(replicas)):
                    await resource.create(make(kind, "web", replicas))
            with timed(figures, "down", replicas):
                async with watching.until(["web"], _has(0)):
                    await resource.patch("web", {"spec": {"replicas": 0}}, NAMESPACE)
    return figures


async def roll_out(count: int) -> Figures:
    names = [f"d-{index}" for index in range(count)]

    figures: Figures = {}
    with api_server(fake_nodes=10) as kubeconfig:
        async with managed(kubeconfig, _DEPLOYMENT) as (resource, watching):

            async def create(name: str) -> None:
                await resource.create(make(_DEPLOYMENT, name, 3))

            async def roll(name: str) -> None:
                patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "img:2"}]
                await resource.patch(name, patch, NAMESPACE, patch_type=PatchType.JSON)

            for what, write in (("make", create), ("roll", roll)):
                with timed(figures, what, 3 * count):
                    async with watching.until(names, _is_complete(3)):
                        await at_once(write, names)
    return figures


async def _ready_nodes(kubeconfig: Path, count: int) -> None:
    """Wait until a server's fake nodes are registered, as they are long before anybody makes a Deployment."""
    async with connect(kubeconfig=kubeconfig) as client:
        leases = client.resource(V1Lease)

        async def are_there() -> bool:
            return len((await leases.list("kube-node-lease")).items) >= count  # a node's last step

        await eventually(are_there)


async def laptop(count: int) -> Figures:
    names = [f"d-{index}" for index in range(count)]
    with api_server(fake_nodes=1_000) as kubeconfig:
        await _ready_nodes(kubeconfig, 1_000)
        async with managed(kubeconfig, _DEPLOYMENT) as (resource, watching):

            async def create(name: str) -> None:
                await resource.create(make(_DEPLOYMENT, name, 1))

            watch = Stopwatch()
            async with watching.until(names, _is_complete(1)):
                await at_once(create, names)
            return {"s": round(watch.wall, 1), "Deployments/s": round(count / watch.wall), "CPU s": round(watch.cpu, 1)}


CASES = {
    "scaling": Case(
        "One object to many replicas and back to none",
        scaling,
        each("kind", (_REPLICATION, _DEPLOYMENT), replicas=2_000),
        each("kind", (_REPLICATION, _DEPLOYMENT), replicas=50),
        ("up ms CPU/pod", "down ms CPU/pod"),
        lower_is_better=True,
    ),
    "roll-out": Case(
        "Deployments of three pods that are made, and get a new template, all at once",
        roll_out,
        each("count", (1_000,)),
        each("count", (10,)),
        ("make ms CPU/pod", "roll ms CPU/pod"),
        lower_is_better=True,
    ),
    "laptop": Case(
        "Deployments of one pod on 1,000 fake nodes, made at once, until all are available",
        laptop,
        each("count", (600, 3_000)),
        each("count", (10,)),
        ("Deployments/s",),
    ),
}
