"""The cost of the endpoints and the endpoint slice controllers: ``python -m benchmarks.endpoints``.

The embedded API server runs in another process, which also makes the objects and changes the pods. The figures are wall
time, and the CPU time of this process, which has the client, the informers and the controllers. The pods are like those
of a real cluster: they have all fields that a server and a kubelet set.

- ``one pod``: one pod of a service with many pods changes its readiness; measured until the cache has the new endpoints
- ``rolling``: all pods of that service change, one after the other, with a batch period; the number of writes
- ``empty cache``: there are many services and pods, but no endpoints; measured until all services have theirs
"""

from __future__ import annotations

import argparse
import copy
import cProfile
import gzip
import json
import pstats
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import structlog
from prometheus_client import REGISTRY

from benchmarks.servers import Remote, remote
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.manager import ControllerFactory, Manager
from kinformer.meta import GroupResource
from kinformer.models import V1Endpoints, V1EndpointSlice
from kinformer_controllers.endpoint.controller import make_controller as make_endpoint
from kinformer_controllers.endpointslice.controller import make_controller as make_endpointslice

NAMESPACE = "default"
CONTROLLERS: dict[str, ControllerFactory] = {"endpoint": make_endpoint, "endpointslice": make_endpointslice}
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
            meta = {"name": f"node-{index}", "uid": f"node-{index}", "creationTimestamp": "2026-01-01T00:00:00Z"}
            store.create(GroupResource("", "nodes"), "", meta["name"], {"metadata": meta, "spec": {}, "status": {}})
        for index in range(services):
            name = f"s-{index}"
            store.create(GroupResource("", "services"), NAMESPACE, name, _service(name))
        template = _pod_of_a_cluster()
        for index in range(self._count):
            store.create(_PODS, NAMESPACE, _name(index), _pod(template, index, f"s-{index % services}"))

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


def _service(name: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"],
            "ipFamilies": ["IPv4"],
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
            "selector": {"app": name, "tier": "web"},
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    }


def _pod_of_a_cluster() -> dict[str, Any]:
    file = Path(__file__).parents[1] / "tests" / "golden" / "streams" / "pods_list.json.gz"
    pod: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))["items"][0]
    return pod


def _pod(template: dict[str, Any], index: int, service: str) -> dict[str, Any]:
    pod = copy.deepcopy(template)
    ip = f"10.{1 + index // 62500}.{index // 250 % 250}.{index % 250}"
    labels = {"app": service, "tier": "web", "pod-template-hash": "5d4f8c7b9"}
    pod["metadata"] |= {"name": _name(index), "namespace": NAMESPACE, "uid": f"uid-{index}", "labels": labels}
    pod["spec"]["nodeName"] = f"node-{index % 10}"
    pod["status"] |= {
        "phase": "Running",
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }
    return pod


async def serve(arguments: argparse.Namespace) -> None:
    """Serve until standard input ends. Each line of it is a command, which is answered with the line ``done``."""
    async with ApiServer() as server:
        cluster = Cluster(server, arguments.services, arguments.pods)
        server.write_kubeconfig(arguments.serve)
        print("ready", flush=True)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            verb, argument = line.split()
            if verb == "change":
                cluster.change(int(argument))
            else:
                await cluster.roll(float(argument), shuffled=verb == "shuffle")
            print("done", flush=True)


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


def row(what: str, who: list[str], *figures: str) -> None:
    print(f"{what:32} {' + '.join(who):24} {'  '.join(figures)}", flush=True)


async def one_pod(cluster: Remote, names: list[str], pods: int, times: int) -> None:
    async with managing(cluster, names) as (manager, written):
        await written.until(lambda: all(_endpoints(manager, name) >= min(pods, 1000) for name in names))
        await anyio.sleep(1)
        cpu: list[float] = []
        wall: list[float] = []
        for index in range(times):
            expected = written.count + len(names)
            began, cpu_began = time.perf_counter(), time.process_time()
            await anyio.to_thread.run_sync(cluster.do, f"change {index}")
            await written.until(lambda expected=expected: written.count >= expected)
            wall.append(time.perf_counter() - began)
            cpu.append(time.process_time() - cpu_began)
            await anyio.sleep(0.05)
    row(
        f"one pod of {pods}",
        names,
        f"CPU median {statistics.median(cpu) * 1000:6.1f} ms, worst {max(cpu) * 1000:6.1f} ms",
        f"wall median {statistics.median(wall) * 1000:6.1f} ms",
    )


async def rolling(cluster: Remote, names: list[str], pods: int, seconds: float, batch: float, order: str) -> None:
    async with managing(cluster, names, batch) as (manager, written):
        await written.until(lambda: all(_endpoints(manager, name) >= min(pods, 1000) for name in names))
        await anyio.sleep(batch + 1)
        before, cpu_began = changes(names), time.process_time()
        await anyio.to_thread.run_sync(cluster.do, f"{order} {seconds}")
        await anyio.sleep(2 * batch + 1)
        writes, cpu = changes(names) - before, time.process_time() - cpu_began
    row(
        f"rolling, {order}, {pods} in {seconds:g} s",
        names,
        f"{writes:5} writes ({pods / max(writes, 1):.1f} changes a write)",
        f"CPU {cpu:.2f} s",
    )


async def empty_cache(cluster: Remote, names: list[str], services: int, pods: int) -> None:
    began, cpu_began = time.perf_counter(), time.process_time()
    async with managing(cluster, names) as (manager, written):
        await written.until(
            lambda: (
                all(
                    len(cached(manager, name)) == services and _endpoints(manager, name) == services * pods
                    for name in names
                    if len(cached(manager, name)) == services or name == names[0]
                )
                and all(len(cached(manager, name)) == services for name in names)
            )
        )
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu_began
        found = [_endpoints(manager, name) for name in names]
    if found != [services * pods] * len(names):
        raise SystemExit(f"{names} wrote {found} endpoints: want {services * pods} each")
    row(f"empty cache, {services} x {pods}", names, f"CPU {cpu:.2f} s", f"wall {wall:.2f} s")


def _endpoints(manager: Manager, name: str) -> int:
    count = 0
    for obj in cached(manager, name):
        if name == "endpointslice":
            count += len(obj.endpoints or ())
        else:
            for subset in obj.subsets or ():
                count += len(subset.addresses or ()) + len(subset.not_ready_addresses or ())
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--services", type=int, default=1000, help="services for the empty cache")
    parser.add_argument("--pods", type=int, default=20, help="pods of each of these services")
    parser.add_argument("--big", type=int, default=5000, help="pods of the one service of the other parts")
    parser.add_argument("--times", type=int, default=20, help="how often one pod changes")
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds in which all pods change")
    parser.add_argument("--batch", type=float, default=0.5, help="the batch period, in seconds")
    parser.add_argument("--only", choices=("one", "rolling", "empty"))
    parser.add_argument("--profile", action="store_true", help="profile the run, which makes it slower")
    parser.add_argument("--serve", metavar="KUBECONFIG", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    if arguments.serve:
        anyio.run(serve, arguments)
        return
    profile = cProfile.Profile(time.process_time)
    if arguments.profile:
        profile.enable()
    both = list(CONTROLLERS)
    if arguments.only in (None, "one"):
        for names in (both[:1], both[1:], both):
            with remote("benchmarks.endpoints", services=1, pods=arguments.big) as cluster:
                anyio.run(one_pod, cluster, names, arguments.big, arguments.times)
    if arguments.only in (None, "rolling"):
        for names in (both[:1], both[1:]):
            for order in ("roll", "shuffle"):
                with remote("benchmarks.endpoints", services=1, pods=arguments.big) as cluster:
                    anyio.run(rolling, cluster, names, arguments.big, arguments.seconds, arguments.batch, order)
    if arguments.only in (None, "empty"):
        for names in (both[:1], both[1:], both):
            with remote("benchmarks.endpoints", services=arguments.services, pods=arguments.pods) as cluster:
                anyio.run(empty_cache, cluster, names, arguments.services, arguments.pods)
    if arguments.profile:
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
