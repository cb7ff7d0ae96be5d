"""The cost of the endpoints and the endpoint slice controllers.

The embedded API server runs in another process, which also makes the objects and changes the pods. The figures are wall
time, and the CPU time of this process, which has the client, the informers and the controllers. The pods are like those
of a real cluster: they have all fields that a server and a kubelet set.

- ``endpoints-one``: one pod of a service with many pods changes its readiness, until the cache has the new endpoints
- ``endpoints-rolling``: all pods of that service change, one after the other, with a batch period
- ``endpoints-empty``: there are many services and pods, but no endpoints, until all services have theirs
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
from prometheus_client import REGISTRY

from benchmarks.managers import CREATED, pod_of, recorded_pod, service_of
from kinformer.bench.measure import Stopwatch
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import Commands, Remote, remote
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.manager import ControllerFactory, Manager
from kinformer.meta import GroupResource
from kinformer.models import V1Endpoints, V1EndpointSlice
from kinformer_controllers.endpoint.controller import EndpointController
from kinformer_controllers.endpointslice.controller import EndpointSliceController

AND, SHUFFLED = " and ", "shuffled"
NAMESPACE = "default"
CONTROLLERS: dict[str, ControllerFactory] = {"endpoint": EndpointController, "endpointslice": EndpointSliceController}
WRITTEN: dict[str, type[Any]] = {"endpoint": V1Endpoints, "endpointslice": V1EndpointSlice}
_CHANGES = {"endpoint": "endpoint_controller_changes", "endpointslice": "endpoint_slice_controller_changes"}
_PODS = GroupResource("", "pods")


# The server's side.


class Cluster:
    """
    Objects in a server's storage.

    :param services: the number of services
    :param pods: the number of pods of each service; they are on ten nodes
    """

    def __init__(self, server: ApiServer, services: int, pods: int) -> None:
        self._server = server
        self._count = services * pods
        store = server.storage
        for index in range(10):
            meta = {"name": f"node-{index}", "uid": f"node-{index}", "creationTimestamp": CREATED}
            store.create(GroupResource("", "nodes"), "", meta["name"], {"metadata": meta, "spec": {}, "status": {}})
        for index in range(services):
            self._create("services", f"s-{index}", service_of(f"s-{index}"))
        sample = recorded_pod()
        for index in range(self._count):
            self._create("pods", _name(index), pod_of(sample, index, NAMESPACE, f"s-{index % services}"))

    def _create(self, resource: str, name: str, obj: dict[str, Any]) -> None:
        meta = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "creationTimestamp": CREATED}
        self._server.storage.create(
            GroupResource("", resource), NAMESPACE, name, {**obj, "metadata": {**obj.get("metadata", {}), **meta}}
        )

    def change(self, index: int) -> None:
        """Make a pod ready if it was not, or not ready if it was."""
        before = self._server.storage.get(_PODS, NAMESPACE, _name(index))
        assert before is not None
        obj = before.decode()
        for condition in obj["status"]["conditions"]:
            if condition["type"] == "Ready":
                condition["status"] = "False" if condition["status"] == "True" else "True"
                condition["lastTransitionTime"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._server.storage.update(_PODS, before, obj)

    async def roll(self, seconds: float, *, shuffled: bool) -> None:
        """Change all pods, one after the other, within some seconds."""
        order = list(range(self._count))
        if shuffled:
            random.Random(8).shuffle(order)
        began = time.monotonic()
        for done, index in enumerate(order):
            ahead = began + seconds * done / self._count - time.monotonic()
            # Sleep only when it is worth it: a server that sleeps after every change spends most of its time on that.
            if ahead > 0.005:
                await anyio.sleep(ahead)
            self.change(index)


def _name(index: int) -> str:
    return f"pod-{index:05}"


@asynccontextmanager
async def serve(services: int, pods: int) -> AsyncIterator[tuple[ApiServer, Commands]]:
    """Serve pods. The commands change one, or all in some order."""
    # Without its controllers: the owners of the pods do not exist, so the garbage collector would delete them.
    async with ApiServer(controllers=False) as server:
        cluster = Cluster(server, services, pods)

        async def change(index: str) -> None:
            cluster.change(int(index))

        async def roll(order: str, seconds: str) -> None:
            await cluster.roll(float(seconds), shuffled=order == SHUFFLED)

        yield server, {"change": change, "roll": roll}


# The controllers' side.


class Written:
    """
    An event handler for the objects that the controllers write.

    :ivar count: how many events it has seen
    """

    def __init__(self) -> None:
        self.count = 0
        self._news = anyio.Event()

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self.count += 1
        self._news.set()

    def on_update(self, old: Any, new: Any, /) -> None:
        self.on_add(new, False)

    def on_delete(self, obj: Any, /) -> None:
        self.on_add(obj, False)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._news = anyio.Event()
            await self._news.wait()


@asynccontextmanager
async def managing(
    cluster: Remote, names: list[str], batch_period: float = 0.0
) -> AsyncIterator[tuple[Manager, Written]]:
    # A manager refuses the options of controllers that it does not run.
    options = {f"{name}_updates_batch_period": batch_period for name in names}
    async with connect(kubeconfig=cluster.kubeconfig) as client, anyio.create_task_group() as tasks:
        manager = Manager(client, known={name: CONTROLLERS[name] for name in names}, options=options)
        written = Written()
        for name in names:
            manager.context.informers.informer_for(WRITTEN[name]).add_event_handler(written)
        tasks.start_soon(manager.run)
        yield manager, written
        tasks.cancel_scope.cancel()


def cached(manager: Manager, name: str) -> list[Any]:
    found: list[Any] = manager.context.informers.informer_for(WRITTEN[name]).indexer.list()
    return found


def changes(names: list[str]) -> int:
    """The writes of these controllers so far."""
    values = (
        REGISTRY.get_sample_value(_CHANGES[name], {"operation": operation})
        for name in names
        for operation in ("create", "update", "delete")
    )
    return int(sum(value or 0 for value in values))


async def one_pod(who: str, pods: int, times: int) -> Figures:
    names = who.split(AND)
    cpu: list[float] = []
    wall: list[float] = []
    with remote(serve, services=1, pods=pods) as cluster:
        async with managing(cluster, names) as (manager, written):
            await written.until(lambda: all(_endpoints(manager, name) >= min(pods, 1000) for name in names))
            await anyio.sleep(1)
            for index in range(times):
                expected = written.count + len(names)
                watch = Stopwatch()
                await anyio.to_thread.run_sync(cluster.do, f"change {index}")
                await written.until(lambda expected=expected: written.count >= expected)
                wall.append(watch.wall)
                cpu.append(watch.cpu)
                await anyio.sleep(0.05)
    return {
        "ms CPU": round(statistics.median(cpu) * 1e3, 1),
        "worst ms CPU": round(max(cpu) * 1e3, 1),
        "ms": round(statistics.median(wall) * 1e3, 1),
    }


async def rolling(who: str, order: str, pods: int, seconds: float, batch: float = 0.5) -> Figures:
    with remote(serve, services=1, pods=pods) as cluster:
        async with managing(cluster, [who], batch) as (manager, written):
            await written.until(lambda: _endpoints(manager, who) >= min(pods, 1000))
            await anyio.sleep(batch + 1)
            before, watch = changes([who]), Stopwatch()
            await anyio.to_thread.run_sync(cluster.do, f"roll {order.split()[-1]} {seconds}")
            await anyio.sleep(2 * batch + 1)
            writes, cpu = changes([who]) - before, watch.cpu
    return {"writes": writes, "changes/write": round(pods / max(writes, 1), 1), "CPU seconds": round(cpu, 2)}


async def empty_cache(who: str, services: int, pods: int) -> Figures:
    names = who.split(AND)

    def are_there() -> bool:
        # Counting endpoints takes longer than counting objects, so it is done only when all objects are there.
        return all(len(cached(manager, name)) == services for name in names) and all(
            _endpoints(manager, name) == services * pods for name in names
        )

    with remote(serve, services=services, pods=pods) as cluster:
        watch = Stopwatch()
        async with managing(cluster, names) as (manager, written):
            await written.until(are_there)
            return {"CPU seconds": round(watch.cpu, 2), "seconds": round(watch.wall, 2)}


def _endpoints(manager: Manager, name: str) -> int:
    count = 0
    for obj in cached(manager, name):
        if name == "endpointslice":
            count += len(obj.endpoints or ())
        else:
            for subset in obj.subsets or ():
                count += len(subset.addresses or ()) + len(subset.not_ready_addresses or ())
    return count


_EACH, _BOTH = tuple(CONTROLLERS), (*CONTROLLERS, AND.join(CONTROLLERS))


def _rolling(**sizes: Any) -> tuple[dict[str, Any], ...]:
    return tuple({"who": who, "order": order, **sizes} for who in _EACH for order in ("in order", SHUFFLED))


CASES = {
    "endpoints-one": Case(
        "One pod of a service with many pods changes",
        one_pod,
        each("who", _BOTH, pods=5_000, times=20),
        each("who", _BOTH, pods=200, times=3),
        ("ms CPU",),
        lower_is_better=True,
    ),
    "endpoints-rolling": Case(
        "All pods of a service change, one after the other",
        rolling,
        _rolling(pods=5_000, seconds=5.0),
        _rolling(pods=200, seconds=0.5),
        ("CPU seconds",),
        lower_is_better=True,
    ),
    "endpoints-empty": Case(
        "Services and pods are there, and no endpoints",
        empty_cache,
        each("who", _BOTH, services=1_000, pods=20),
        each("who", _BOTH, services=20, pods=20),
        ("CPU seconds",),
        lower_is_better=True,
    ),
}
