"""A manager with all controllers on a full cluster.

    python -m benchmarks.all_controllers run     [--shape limit --scale 0.1] [--command COMMAND ...]
    python -m benchmarks.all_controllers load    --server URL --token TOKEN --ca FILE [--shape limit --scale 0.1]
    python -m benchmarks.all_controllers measure --server URL --token TOKEN --ca FILE --command COMMAND ...

``load`` fills an empty API server (:mod:`benchmarks.cluster_objects` says with what), and ``measure`` measures managers
on it. ``run`` does both with an embedded API server in a process of its own. The shape ``usual`` has 1,000 nodes and
10,000 pods. The shape ``limit`` is Kubernetes' own limit: 5,000 nodes, 150,000 pods in 50 namespaces, 5,000 Deployments
and 10,000 Services; ``--scale`` makes it smaller, so that doubling is a command.

A measurement takes away what controllers have made, that is the statuses, the Endpoints and the EndpointSlices. It then
starts the command, and says

- after how many seconds all of these are there again, and how much CPU time the process has used until then,
- how much CPU time it has used after a minute, and how much it used in the quiet minute after that,
- its resident memory at the end of this minute, and the highest,
- with ``--flood``: for so many seconds, ``--rate`` pods a second get a new status. One in ``--flip`` of them becomes
  ready or not ready. How long it takes until the slices say so, and the CPU time,
- with ``--starts``: so many Deployments get one more pod. How long it takes until their ReplicaSets count it.

All the while every Lease is renewed every 10 seconds, as kubelets do, and at the limit each node's status is written
every five minutes. The server should limit no rates. Several commands are measured in turn; KUBECONFIG in them stands
for the file of the embedded server. With ``--kinds``, a manager that runs only some controllers can be measured: the
other kinds are not waited for.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread

from benchmarks import cluster_objects as objects
from benchmarks.cluster_objects import SHAPES, App, Obj, Pod, Shape
from benchmarks.cluster_writing import InServer, OverHttp, Writer
from kinformer.bench.measure import cpu_seconds, current_kib, peak_kib
from kinformer.bench.results import BenchError
from kinformer.bench.servers import Commands, Remote, at_once, remote
from kinformer.client import ClientError, connect
from kinformer.envtest import ApiServer
from kinformer.meta import GroupVersionResource, Quantity
from kinformer.tasks import sole_error

T = TypeVar("T")

#: Tasks that write at the same time, over HTTP.
_TASKS = 8
#: How long a measurement waits until all is right, in seconds.
_PATIENCE = 3600.0
#: How long the last change of a flood may take to arrive, in seconds.
_LAST_PATIENCE = 300.0
_OURS = "kinformer manager --kubeconfig KUBECONFIG --controllers builtin --kube-api-qps 5000 --kube-api-burst 5000"

_FOLLOWED = (
    objects.REPLICA_SETS,
    objects.DEPLOYMENTS,
    objects.BUDGETS,
    objects.QUOTAS,
    objects.ENDPOINTS,
    objects.SLICES,
)


class Progress:
    """
    Counts what controllers have made.

    :param kinds: the resources that count; all of them if empty
    """

    def __init__(self, shape: Shape, kinds: Collection[str] = ()) -> None:
        self._shape = shape
        self._teams = {app.team for app in shape.all_apps}
        apps = shape.teams * shape.apps
        wanted: dict[GroupVersionResource, tuple[Callable[[Obj], int], int]] = {
            objects.REPLICA_SETS: (lambda it: bool(it["spec"].get("replicas")) and self._is_full(it), apps),
            objects.DEPLOYMENTS: (self._is_full, apps),
            objects.BUDGETS: (lambda it: _status(it).get("currentHealthy") == shape.pods, apps),
            objects.QUOTAS: (self._is_counted, shape.teams),
            objects.ENDPOINTS: (_addresses, apps * shape.services * shape.pods),
            objects.SLICES: (lambda it: len(it.get("endpoints") or ()), apps * shape.services * shape.pods),
        }
        self._wanted = {gvr: wanted[gvr] for gvr in wanted if not kinds or gvr.resource in kinds}
        self._right = dict.fromkeys(self._wanted, 0)
        self._each: dict[tuple[GroupVersionResource, str], int] = {}
        self._changed = anyio.Event()

    def saw(self, gvr: GroupVersionResource, key: str, obj: Obj | None) -> None:
        """Count an object as it is now; None if it is gone. Others' objects do not count, such as the API server's."""
        if gvr not in self._wanted or key.partition("/")[0] not in self._teams:
            return
        now = int(self._wanted[gvr][0](obj)) if obj is not None else 0
        self._right[gvr] += now - self._each.get((gvr, key), 0)
        self._each[gvr, key] = now
        self._changed.set()

    @property
    def is_complete(self) -> bool:
        return all(self._right[gvr] >= count for gvr, (_, count) in self._wanted.items())

    @property
    def is_empty(self) -> bool:
        return not any(self._right.values())

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when a condition is true. It is checked after each change."""
        while not condition():
            self._changed = anyio.Event()
            await self._changed.wait()

    def _is_full(self, it: Obj) -> bool:
        status = _status(it)
        return bool(status.get("availableReplicas", 0) == status.get("readyReplicas", 0) == self._shape.pods)

    def _is_counted(self, it: Obj) -> bool:
        used = (_status(it).get("used") or {}).get("pods", "0")
        return Quantity.parse(used) == Quantity.of(self._shape.apps * self._shape.pods)


def _status(it: Obj) -> Obj:
    status: Obj | None = it.get("status")
    return status or {}


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _addresses(it: Obj) -> int:
    return sum(len(part.get("addresses") or ()) for part in it.get("subsets") or ())


class Cluster:
    """
    The objects on the server. Its methods wait for what controllers make while :meth:`living` runs.

    :param tasks: how many tasks may write at the same time
    :param kinds: the resources that are waited for; all of them if empty
    """

    def __init__(self, writer: Writer, shape: Shape, tasks: int, kinds: Collection[str] = ()) -> None:
        self._writer = writer
        self._shape = shape
        self._tasks = tasks
        self._apps = shape.all_apps
        self._nodes = shape.all_nodes
        self._teams = sorted({app.team for app in self._apps})
        self._progress = Progress(shape, kinds)
        #: The pods whose readiness was changed: when, whether they are ready now, and how many slices have to show it.
        self._flips: dict[str, tuple[float, bool, int]] = {}
        #: The ReplicaSets that should have a pod more, since when.
        self._starts: dict[str, float] = {}
        self._lags: list[float] = []

    async def load(self) -> None:
        """Create everything. Objects that are there already stay."""
        for team in (objects.LEASE_NAMESPACE, *self._teams):
            await self._writer.create(objects.NAMESPACES, {"metadata": {"name": team}})
        for team in self._teams:
            await self._writer.create(objects.ACCOUNTS, {"metadata": {"name": "default", "namespace": team}})
        await self._at_once(self._node, list(enumerate(self._nodes)))
        await self._at_once(self._app, self._apps)
        for team in self._teams:
            await self._writer.create(objects.QUOTAS, objects.quota(team))

    async def reset(self) -> None:
        """Take away what controllers have made."""
        await self._at_once(self._forget, self._apps)
        for team in self._teams:
            await self._set_status(objects.QUOTAS, team, "quota", {"used": {"pods": "0"}})
            for gvr in (objects.ENDPOINTS, objects.SLICES):
                await self._writer.empty(gvr, team)
        await self._progress.until(lambda: self._progress.is_empty)

    async def settled(self) -> None:
        """Wait until controllers have made all of it again."""
        await self._progress.until(lambda: self._progress.is_complete)

    async def flood(self, rate: float, seconds: float, flip: int) -> list[float]:
        """
        Give pods a new status.

        :param rate: pods a second
        :param flip: one in so many becomes ready, or not ready
        :return: how many pods were written a second; then for each flip, in the order in which the slices say so, the
            seconds until they do
        """
        pods = [pod for app in self._apps for pod in self._shape.pods_of(app)]
        random.Random(8).shuffle(pods)
        count = int(rate * seconds)
        self._lags, self._flips = [], {}
        unready: set[Pod] = set()
        began = time.monotonic()

        async def change(number: int) -> None:
            pod = pods[number % len(pods)]
            status: Obj = {"message": f"change {number}"}
            if number % flip == 0:
                ready = pod in unready
                (unready.remove if ready else unready.add)(pod)
                self._flips[pod.name] = time.monotonic(), ready, self._shape.services
                status["conditions"] = objects.conditions(_now(), ready=ready)
            await self._set_status(objects.PODS, pod.namespace, pod.name, status)

        await self._spread(range(count), seconds, change)
        took = time.monotonic() - began
        with anyio.fail_after(_LAST_PATIENCE):
            await self._progress.until(lambda: not self._flips)
        lags, self._lags = self._lags, []
        for pod in unready:  # for the next measurement
            ready_again = objects.conditions(_now(), ready=True)
            await self._set_status(objects.PODS, pod.namespace, pod.name, {"conditions": ready_again})
        await self.settled()
        return [count / took, *lags]

    async def start_pods(self, count: int) -> list[float]:
        """
        Give some Deployments a pod more.

        :return: for each, the seconds until its ReplicaSet counts the pod
        """
        apps = random.Random(8).sample(self._apps, min(count, len(self._apps)))
        self._lags, self._starts = [], {}
        replicas = self._shape.pods

        async def scale(app: App, to: int) -> None:
            await self._writer.patch(objects.DEPLOYMENTS, app.team, app.name, "", {"spec": {"replicas": to}})

        for app in apps:
            self._starts[f"{app.team}/{app.replica_set(self._shape.revisions)}"] = time.monotonic()
            await scale(app, replicas + 1)
        with anyio.fail_after(_LAST_PATIENCE):
            await self._progress.until(lambda: not self._starts)
        lags, self._lags = self._lags, []
        for app in apps:
            await scale(app, replicas)
        await self.settled()
        return lags

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """Renew Leases and write statuses of nodes, and follow what controllers write, while the block runs."""
        renewed = anyio.Event()

        async def renew(number: int) -> None:
            lease = {"spec": {"renewTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"}}
            await self._writer.patch(objects.LEASES, objects.LEASE_NAMESPACE, self._nodes[number], "", lease)

        async def beat(number: int) -> None:
            await self._set_status(objects.NODES, "", self._nodes[number], {"conditions": objects.healthy(_now())})

        async def again(call: Callable[[int], Awaitable[None]], seconds: float) -> None:
            while True:
                await self._spread(range(len(self._nodes)), seconds, call)
                renewed.set()

        async with anyio.create_task_group() as tasks, self._writer.following(_FOLLOWED, self._saw):
            tasks.start_soon(again, renew, self._shape.lease_seconds)
            # A manager would take nodes with old Leases for dead ones.
            await renewed.wait()
            if self._shape.status_seconds:
                tasks.start_soon(again, beat, self._shape.status_seconds)
            yield
            tasks.cancel_scope.cancel()

    def _saw(self, gvr: GroupVersionResource, key: str, obj: Obj | None) -> None:
        if gvr == objects.SLICES and obj is not None and self._flips:
            for endpoint in obj.get("endpoints") or ():
                self._saw_endpoint(endpoint["targetRef"]["name"], endpoint["conditions"]["ready"])
        counts = _status(obj or {}).get("replicas")
        if gvr == objects.REPLICA_SETS and key in self._starts and counts == self._shape.pods + 1:
            self._lags.append(time.monotonic() - self._starts.pop(key))
        self._progress.saw(gvr, key, obj)

    def _saw_endpoint(self, name: str, ready: bool) -> None:
        flip = self._flips.get(name)
        if flip is None or flip[1] is not ready:
            return
        since, _, missing = flip
        if missing > 1:
            self._flips[name] = since, ready, missing - 1
            return
        del self._flips[name]
        self._lags.append(time.monotonic() - since)

    async def _forget(self, app: App) -> None:
        nothing = {"replicas": 0, "readyReplicas": 0, "availableReplicas": 0}
        latest = app.replica_set(self._shape.revisions)
        await self._set_status(objects.REPLICA_SETS, app.team, latest, {**nothing, "fullyLabeledReplicas": 0})
        await self._set_status(objects.DEPLOYMENTS, app.team, app.name, {**nothing, "updatedReplicas": 0})
        budget = {"currentHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}
        await self._set_status(objects.BUDGETS, app.team, app.name, budget)

    async def _node(self, numbered: tuple[int, str]) -> None:
        _, name = numbered
        await self._writer.create(objects.NODES, *objects.node(*numbered))
        await self._writer.create(objects.LEASES, objects.lease(name))

    async def _app(self, app: App) -> None:
        shape, create = self._shape, self._writer.create
        top = await create(objects.DEPLOYMENTS, objects.deployment(app, shape))
        for revision in range(1, shape.revisions + 1):
            current = await create(objects.REPLICA_SETS, objects.replica_set(app, revision, top, shape))
        for pod in shape.pods_of(app):
            await create(objects.PODS, *objects.pod(pod, current, self._nodes[pod.node]))
        for name in app.services(shape):
            await create(objects.SERVICES, objects.service(app, name))
        await create(objects.BUDGETS, objects.budget(app))

    async def _set_status(self, gvr: GroupVersionResource, namespace: str, name: str, status: Obj) -> None:
        await self._writer.patch(gvr, namespace, name, "status", {"status": status})

    async def _at_once(self, call: Callable[[T], Awaitable[object]], items: Sequence[T]) -> None:
        await at_once(call, items, most=50 if self._tasks > 1 else 1)

    async def _spread(self, items: range, seconds: float, call: Callable[[int], Awaitable[None]]) -> None:
        """Call a function for each number, evenly over so many seconds."""
        began = time.monotonic()

        async def part(first: int) -> None:
            for item in items[first :: self._tasks]:
                ahead = began + seconds * (item + 1) / len(items) - time.monotonic()
                # Sleep only when it is worth it: a server that sleeps after every write spends most time on that.
                if ahead > 0.005:
                    await anyio.sleep(ahead)
                await call(item)

        async with anyio.create_task_group() as tasks:
            for first in range(self._tasks):
                tasks.start_soon(part, first)


# The embedded server.


@asynccontextmanager
async def serve(shape: dict[str, Any], kinds: list[str]) -> AsyncIterator[tuple[ApiServer, Commands]]:
    """Serve a full cluster. The commands are the methods of :class:`Cluster`."""
    async with (
        ApiServer(tls=True, controllers=False) as server,
        connect(
            url=server.url,
            token=server.token,
            ca_data=server.authority.certificate if server.authority is not None else None,
        ) as client,
    ):
        cluster = Cluster(InServer(server, OverHttp(client)), Shape(**shape), 1, kinds)
        began = time.monotonic()
        await cluster.load()
        print(f"loaded in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

        async def flood(rate: str, seconds: str, flip: str) -> list[float]:
            return await cluster.flood(float(rate), float(seconds), int(flip))

        async def start_pods(count: str) -> list[float]:
            return await cluster.start_pods(int(count))

        async with cluster.living():
            yield (
                server,
                {"reset": cluster.reset, "settled": cluster.settled, "flood": flood, "start_pods": start_pods},
            )


class Measured(Protocol):
    """The part of :class:`Cluster` that a measurement needs."""

    async def reset(self) -> None: ...
    async def settled(self) -> None: ...
    async def flood(self, rate: float, seconds: float, flip: int) -> list[float]: ...
    async def start_pods(self, count: int) -> list[float]: ...


class _Apart:
    """A cluster in another process."""

    def __init__(self, server: Remote) -> None:
        self._server = server

    async def reset(self) -> None:
        await self._do("reset")

    async def settled(self) -> None:
        await self._do("settled")

    async def flood(self, rate: float, seconds: float, flip: int) -> list[float]:
        lags: list[float] = await self._do(f"flood {rate} {seconds} {flip}")
        return lags

    async def start_pods(self, count: int) -> list[float]:
        lags: list[float] = await self._do(f"start_pods {count}")
        return lags

    async def _do(self, command: str) -> Any:
        return await anyio.to_thread.run_sync(self._server.do, command, abandon_on_cancel=True)


# The managers.


def _started(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("a") as output:
        return subprocess.Popen(command, stdout=output, stderr=output)


async def measure(cluster: Measured, command: list[str], options: argparse.Namespace) -> None:
    """Start a manager on a cluster that runs, measure it, and end it."""
    await cluster.reset()
    began = time.monotonic()
    process = _started(command, options.log)
    try:
        with anyio.fail_after(_PATIENCE):
            await cluster.settled()
        took, cpu = time.monotonic() - began, cpu_seconds(process.pid)
        _say(f"settled {took:.1f} s, CPU {cpu:.1f} s")
        await anyio.sleep(max(0.0, began + options.seconds - time.monotonic()))
        before, quiet = cpu_seconds(process.pid), time.monotonic()
        _say(f"CPU {before:.1f} s after {quiet - began:.0f} s")
        await anyio.sleep(options.seconds)
        rest = (cpu_seconds(process.pid) - before) / (time.monotonic() - quiet)
        now, most = current_kib(process.pid) / 1024, peak_kib(process.pid) / 1024
        _say(f"at rest {rest * 100:.2f} % of a core, {now:.0f} MiB, at most {most:.0f} MiB")
        if options.flood:
            before = cpu_seconds(process.pid)
            rate, *lags = await cluster.flood(options.rate, options.flood, options.flip)
            cpu, now = cpu_seconds(process.pid) - before, current_kib(process.pid) / 1024
            _say(f"flood: {rate:.0f} pods/s for {options.flood:.0f} s, CPU {cpu:.1f} s, {now:.0f} MiB; {_shown(lags)}")
        if options.starts:
            _say(f"one pod more: {_shown(await cluster.start_pods(options.starts))}")
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()


def _shown(lags: list[float]) -> str:
    if not lags:
        return "nothing to wait for"
    ordered = sorted(lags)
    p50, p99 = ordered[len(lags) // 2], ordered[len(lags) * 99 // 100]
    return f"{len(lags)} times: p50 {p50:.3f} s, p99 {p99:.3f} s, longest {ordered[-1]:.3f} s, last {lags[-1]:.3f} s"


def _say(text: str) -> None:
    print(text, f"(load {os.getloadavg()[0]:.1f})", flush=True)


async def run(options: argparse.Namespace) -> None:
    shape = shape_of(options)
    print(shape, flush=True)
    if options.what == "run":
        fields = {name: getattr(shape, name) for name in Shape.__slots__}
        with remote(serve, shape=fields, kinds=list(options.kinds)) as server:
            _say("ready")
            for command in options.command or [shlex.split(f"{sys.executable} -m {_OURS}")]:
                found = [part.replace("KUBECONFIG", str(server.kubeconfig)) for part in command]
                await _measure(_Apart(server), found, options)
        return
    async with connect(url=options.server, token=options.token, ca_file=options.ca) as client:
        cluster = Cluster(OverHttp(client), shape, _TASKS, options.kinds)
        if options.what == "load":
            began = time.monotonic()
            await cluster.load()
            _say(f"loaded in {time.monotonic() - began:.0f} s")
            return
        async with cluster.living():
            for command in options.command:
                await _measure(cluster, command, options)


async def _measure(cluster: Measured, command: list[str], options: argparse.Namespace) -> None:
    for _ in range(options.rounds):
        print(f"-- {shlex.join(command)[:100]}", flush=True)
        await measure(cluster, command, options)


def shape_of(options: argparse.Namespace) -> Shape:
    """Return the shape that the arguments ask for."""
    shape = SHAPES[options.shape].scaled(options.scale)
    changed = {}
    if options.nodes:
        changed["nodes"] = options.nodes
    if options.pods:
        changed["pods"] = options.pods // (shape.teams * shape.apps)
    shape = dataclasses.replace(shape, **changed)
    return shape.in_teams(options.namespaces) if options.namespaces else shape


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "load", "measure"))
    parser.add_argument("--server")
    parser.add_argument("--token", default="")
    parser.add_argument("--ca")
    parser.add_argument("--shape", choices=SHAPES, default="usual")
    parser.add_argument("--scale", type=float, default=1.0, help="so much of the shape's nodes and namespaces")
    parser.add_argument("--namespaces", type=int, help="put the same apps into so many namespaces")
    parser.add_argument("--nodes", type=int, help="in place of the shape's number")
    parser.add_argument("--pods", type=int, help="in all, in place of the shape's number")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the start and the rest are watched")
    parser.add_argument("--flood", type=float, default=0.0, help="for how many seconds pods change")
    parser.add_argument("--rate", type=float, default=1000.0, help="how many pods change a second")
    parser.add_argument("--flip", type=int, default=100, help="one in so many changes its readiness")
    parser.add_argument("--starts", type=int, default=0, help="how many Deployments get one more pod")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=(), help="wait for these resources only")
    parser.add_argument("--rounds", type=int, default=1, help="how often each command is measured, one after the other")
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="file for the output of the command")
    parser.add_argument("--command", type=shlex.split, action="append", help="starts a manager that is measured")
    options = parser.parse_args()
    if options.what != "run" and not options.server:
        parser.error("--server is required")
    if options.what == "measure" and not options.command:
        parser.error("--command is required")
    try:
        anyio.run(partial(run, options))
    except* (BenchError, ClientError, OSError) as errors:
        sys.exit(f"all_controllers: {sole_error(errors)}")


if __name__ == "__main__":
    main()
