"""What the guard counts: ``python -m benchmarks.guard_paths``. See :mod:`benchmarks.guard`.

Each path is gone with few repetitions, with few again, and with many. A call of ``getppid``, which nothing else here
makes, tells valgrind where one run ends and the next one begins.

``event``: a change of a pod, as in :mod:`benchmarks.guard_run`. ``list``: a pod of a first list, up to a handler that
reads its metadata. ``touch``: the same, with a handler that reads a field of spec and one of status. ``write``: a pod
that is created, over a socket, by a server in this process that always gives the same answer. ``sync``: a sync of a
Deployment that is complete, and of its ReplicaSet; nothing is written.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import anyio

from benchmarks.guard_run import RecordedPods, follow
from benchmarks.node_health import make_context
from kinformer.bench.pods import pod_bytes
from kinformer.cache import InformerOptions, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.client import connect
from kinformer.clock import FakeClock
from kinformer.collector import relax
from kinformer.models import V1Deployment, V1Pod, V1ReplicaSet, from_dict
from kinformer_controllers.deployment.controller import DeploymentController
from kinformer_controllers.replicaset.controller import REPLICA_SETS
from kinformer_controllers.shared.replicas.controller import ReplicaController

__all__ = ("PATHS", "Path")


async def listing(count: int, *, reads: bool = False) -> None:
    """Run an informer until its handler has seen all objects of a list."""
    left = count
    done = anyio.Event()

    def add(pod: V1Pod) -> None:
        nonlocal left
        assert pod.metadata.resource_version
        if reads:
            assert pod.spec.node_name
            assert pod.status.phase
        left -= 1
        if not left:
            done.set()

    source = RecordedPods(0, V1Pod, in_turn=False, objects=count)
    options = InformerOptions(random=lambda: 0.5)
    informer: SharedIndexInformer[Any] = SharedIndexInformer(source, V1Pod, options=options, clock=FakeClock())
    informer.add_event_handler(ResourceEventHandlerFuncs(add=add))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(informer.run)
        await done.wait()
        tasks.cancel_scope.cancel()


async def touching(count: int) -> None:
    await listing(count, reads=True)


class _Server(asyncio.Protocol):
    """Gives the same answer to whatever it reads. A request comes in one read: it is small, and sent at once."""

    def __init__(self) -> None:
        body = pod_bytes(0).at(1000)
        self._answer = b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(self._answer)


async def writing(count: int) -> None:
    """Create a pod again and again."""
    pod = from_dict(V1Pod, {"metadata": {"generateName": "web-"}, "spec": {"containers": [{"name": "main"}]}})
    async with await asyncio.get_running_loop().create_server(_Server, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        async with connect(url=f"http://{host}:{port}") as client:
            pods = client.resource(V1Pod)
            for _ in range(count):
                assert (await pods.create(pod, "default")).metadata.resource_version == "1000"


async def syncing(count: int) -> None:
    """Sync a Deployment and its ReplicaSet that are as they should be."""
    context = make_context(FakeClock())
    deployments, replicas = DeploymentController(context), ReplicaController(context, REPLICA_SETS)
    for type_, obj in _rolled_out(3):
        context.informers.informer_for(type_).indexer.add(from_dict(type_, obj))
    for _ in range(count):
        await deployments.sync("default/web")
        await replicas.sync("default/web-1")


def _rolled_out(count: int) -> list[tuple[type[Any], dict[str, Any]]]:
    revision = {"deployment.kubernetes.io/revision": "1"}
    sizes = {"deployment.kubernetes.io/desired-replicas": str(count), "deployment.kubernetes.io/max-replicas": "4"}
    labels = {"app": "web"}
    hashed = {**labels, "pod-template-hash": "1"}
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), count) | {"observedGeneration": 1}
    since = "2026-01-01T00:00:00Z"

    def about(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "namespace": "default", "uid": name, "generation": 1, "resourceVersion": "1", **more}

    def owned(kind: str, name: str) -> list[dict[str, Any]]:
        return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}]

    def template(labels: dict[str, str]) -> dict[str, Any]:
        return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "img:1"}]}}

    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    deployment = {
        "metadata": about("web", annotations=revision),
        "spec": {
            "replicas": count,
            "selector": {"matchLabels": labels},
            "template": template(labels),
            "strategy": rolling,
            "progressDeadlineSeconds": 600,
        },
        "status": {
            **counts,
            "updatedReplicas": count,
            "terminatingReplicas": 0,
            "conditions": [
                _condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
                _condition("Progressing", "NewReplicaSetAvailable", 'ReplicaSet "web-1" has successfully progressed.'),
            ],
        },
    }
    owners = owned("Deployment", "web")
    replica_set = {
        "metadata": about("web-1", labels=hashed, annotations={**revision, **sizes}, ownerReferences=owners),
        "spec": {"replicas": count, "selector": {"matchLabels": hashed}, "template": template(hashed)},
        "status": {**counts, "fullyLabeledReplicas": count, "terminatingReplicas": 0},
    }
    pods: list[tuple[type[Any], dict[str, Any]]] = []
    for name in (f"web-1-{number}" for number in range(count)):
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]}
        meta = about(name, labels=hashed, ownerReferences=owned("ReplicaSet", "web-1"))
        pods.append((V1Pod, {"metadata": meta, "spec": template({})["spec"], "status": ready}))
    return [(V1Deployment, deployment), (V1ReplicaSet, replica_set), *pods]


def _condition(type_: str, reason: str, message: str) -> dict[str, Any]:
    since = "2026-01-01T00:00:00Z"
    times = {"lastUpdateTime": since, "lastTransitionTime": since}
    return {"type": type_, "status": "True", "reason": reason, "message": message, **times}


@dataclass(frozen=True, slots=True)
class Path:
    """
    Something to count.

    :param what: what it is, for people
    :param run: does it so many times
    :param few: a number of times; what a run costs beside the repetitions is in it
    :param many: a larger number of times
    """

    what: str
    run: Callable[[int], Coroutine[Any, Any, object]]
    few: int = 10
    many: int = 210


PATHS = {
    "event": Path("an event", follow, 50, 2050),
    "list": Path("a pod of a first list", listing),
    "touch": Path("a pod of a first list, and the first read of its spec and status", touching),
    "write": Path("a pod that is created", writing),
    "sync": Path("a sync of a Deployment and its ReplicaSet", syncing),
}


async def _run() -> None:
    for path in PATHS.values():
        # The first run imports what is needed, and fills caches.
        for count in (path.few, path.few, path.many):
            await path.run(count)
            os.getppid()


if __name__ == "__main__":
    relax()
    anyio.run(_run)
