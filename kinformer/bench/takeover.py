"""How long a follower takes until its first sync, from when it holds the lease. Its caches are full before that.

The embedded API server has its own process. The leader that ends and the follower that takes over run in this process.
The leader has no informers, so that its end takes almost no time here.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import anyio

from kinformer.bench.pods import pod
from kinformer.bench.results import Figures
from kinformer.bench.servers import api_server, at_once
from kinformer.client import Client, connect
from kinformer.leaderelection import ElectionOptions
from kinformer.manager import Controller, ControllerContext, LeaderElection, Manager
from kinformer.models import V1Namespace, V1ObjectMeta, V1Pod

__all__ = ("RELEASED", "RUN_OUT", "take_over")

#: Why the lease became free.
RELEASED: Final = "the leader gave its lease up"
RUN_OUT: Final = "the leader was gone, its lease ran out"

_TIMES: Final = ElectionOptions(lease_duration=2.0, renew_deadline=1.5, retry_period=0.5)


async def take_over(how: str, objects: int = 20_000) -> Figures:
    """
    Measure a take-over: the milliseconds from holding the lease until the first sync, and until all keys are queued.

    :param how: :data:`RELEASED` or :data:`RUN_OUT`
    :param objects: the number of pods
    """
    with api_server() as kubeconfig:
        return await _take_over(kubeconfig, how, objects)


async def _take_over(kubeconfig: Path, how: str, objects: int) -> Figures:
    async with connect(kubeconfig=kubeconfig) as client, connect(kubeconfig=kubeconfig) as own:
        await _make_pods(client, objects)
        async with anyio.create_task_group() as tasks:
            leader = _Leader(client, own, release=how == RELEASED)
            await leader.start(tasks)
            follower = _Follower(client, own, objects)
            tasks.start_soon(follower.manager.run)
            await follower.manager.context.informers.informer_for(V1Pod).wait_synced()
            await leader.write("web-0000000", "team-00")
            leader.scope.cancel()
            await follower.all_queued.wait()
            await follower.has_synced.wait()
            tasks.cancel_scope.cancel()
    return {
        "ms to the first sync": round((follower.first_sync - follower.held) * 1e3, 1),
        "ms until all are queued": round((follower.last_queued - follower.held) * 1e3, 1),
    }


class _Leader:
    """Leads, and writes to a pod when :meth:`write` is called."""

    def __init__(self, client: Client, own: Client, *, release: bool) -> None:
        self.scope = anyio.CancelScope()
        self._leads = anyio.Event()
        election = LeaderElection(identity="leader", client=own, options=_TIMES, release_on_cancel=release)
        self._manager = Manager(client, known={"idle": lambda _: self}, leader_election=election)

    async def start(self, tasks: anyio.abc.TaskGroup) -> None:
        tasks.start_soon(self._run_manager)
        await self._leads.wait()

    async def _run_manager(self) -> None:
        with self.scope:
            await self._manager.run()

    async def run(self) -> None:
        """The only controller of the manager: it notes that it leads, and does nothing else."""
        self._leads.set()
        await anyio.sleep_forever()

    async def write(self, name: str, namespace: str) -> None:
        pods = self._manager.context.client.resource(V1Pod)
        await pods.patch(name, {"metadata": {"labels": {"written": "last"}}}, namespace)


class _Follower:
    """Stands by, with a controller that only notes when it is called."""

    def __init__(self, client: Client, own: Client, objects: int) -> None:
        self.held = self.first_sync = self.last_queued = 0.0
        self.all_queued = anyio.Event()
        self.has_synced = anyio.Event()
        self._objects = objects
        self._queued = 0
        election = LeaderElection(identity="follower", client=own, options=_TIMES, on_new_leader=self._on_new_leader)
        self.manager = Manager(client, known={"noting": self._make}, leader_election=election)

    def _on_new_leader(self, leader: str) -> None:
        if leader == "follower":
            self.held = time.perf_counter()

    def _make(self, context: ControllerContext) -> Controller:
        async def sync(key: str) -> None:
            self.first_sync = self.first_sync or time.perf_counter()
            self.has_synced.set()

        def keys_of(obj: Any) -> list[str]:
            self._queued += 1
            if self._queued == self._objects:
                self.last_queued = time.perf_counter()
                self.all_queued.set()
            return [f"{obj.metadata.namespace}/{obj.metadata.name}"]

        return Controller("noting", sync).watch_mapped(context.informers.informer_for(V1Pod), keys_of)


async def _make_pods(client: Client, count: int) -> None:
    namespaces, pods = client.resource(V1Namespace), client.resource(dict, V1Pod)
    made = [pod(number, "") for number in range(count)]
    for name in sorted({one["metadata"]["namespace"] for one in made}):
        await namespaces.create(V1Namespace(metadata=V1ObjectMeta(name=name)))

    async def make(one: dict[str, Any]) -> None:
        for field in ("resourceVersion", "uid", "managedFields", "ownerReferences"):
            one["metadata"].pop(field, None)
        await pods.create(one, one["metadata"]["namespace"])

    await at_once(make, made)
