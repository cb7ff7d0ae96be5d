"""A manager's start in a cluster that is full already: ``python -m benchmarks.managers``.

There are 20,000 pods of 200 ReplicationControllers and 200 Services in 20 namespaces, and each namespace has a quota.
The embedded API server runs in another process and speaks TLS. It answers each request 3 ms late, as a real server that
writes to etcd does. A manager with four controllers is started, and measured from the start of its process until each
Service has its Endpoints and its slice, each quota its usage, and each ReplicationController its status. CPU time and
memory are those of the manager's process, also three quiet seconds later.

``--other COMMAND`` measures another manager, in turn with ours. In the command, ``KUBECONFIG`` stands for the file.
Then ratios are printed, too: on a busy machine they are more reliable than seconds.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from kinformer.bench.measure import cpu_seconds, current_kib
from kinformer.bench.servers import Commands, Remote, remote
from kinformer.envtest import ApiServer
from kinformer.meta import GroupResource

CONTROLLERS = "replicationcontroller,endpoint,endpointslice,resourcequota"
RECORDED = Path(__file__).parents[1] / "tests" / "golden" / "streams" / "pods_list.json.gz"
CREATED = "2026-01-01T00:00:00Z"
QUIET_SECONDS = 3.0

PODS = GroupResource("", "pods")
SERVICES = GroupResource("", "services")
ENDPOINTS = GroupResource("", "endpoints")
SLICES = GroupResource("discovery.k8s.io", "endpointslices")
OWNERS = GroupResource("", "replicationcontrollers")
QUOTAS = GroupResource("", "resourcequotas")


# The server's side.


class Cluster:
    """
    The objects of the server.

    :param namespaces: the number of namespaces; each has a quota
    :param services: the number of services in each namespace; each has a ReplicationController
    :param pods: the number of pods of each service
    """

    def __init__(self, server: ApiServer, namespaces: int, services: int, pods: int) -> None:
        self._store = server.storage
        self._services = services
        self._pods = pods
        self._namespaces = [f"ns-{index}" for index in range(namespaces)]
        self._judged: dict[tuple[GroupResource, str], tuple[int, bool]] = {}
        sample = recorded_pod()
        for index in range(10):
            self._create(GroupResource("", "nodes"), "", f"node-{index}", {"spec": {}, "status": {}})
        for number, namespace in enumerate(self._namespaces):
            self._create(GroupResource("", "namespaces"), "", namespace, {"status": {"phase": "Active"}})
            for index in range(services):
                self._create(SERVICES, namespace, f"s-{index}", service_of(f"s-{index}"))
                for pod in range(pods):
                    count = (number * services + index) * pods + pod
                    name = f"s-{index}-{pod:03}"
                    self._create(PODS, namespace, name, pod_of(sample, count, namespace, f"s-{index}"))
        self.reset()

    def reset(self) -> None:
        """Remove what managers have written."""
        for namespace in self._namespaces:
            for index in range(self._services):
                owner = _owner(f"s-{index}", self._pods)
                self._replace(OWNERS, namespace, f"s-{index}", owner)
            self._replace(QUOTAS, namespace, "quota", {"spec": {"hard": {"pods": "5k", "requests.cpu": "50k"}}})
        for resource in (ENDPOINTS, SLICES):
            for stored in list(self._store.log(resource).select("")):
                self._store.delete(resource, stored)

    def missing(self) -> int:
        """How many objects are not yet as managers should make them."""
        services = len(self._namespaces) * self._services
        right = self._right(OWNERS, lambda it: _ready_replicas(it) == self._pods)
        counted = self._right(QUOTAS, lambda it: _used_pods(it) == self._services * self._pods)
        reachable = self._right(ENDPOINTS, lambda it: _addresses(it) == self._pods)
        sliced = self._right(SLICES, lambda it: len(it.get("endpoints") or ()) == self._pods)
        return 3 * services + len(self._namespaces) - right - counted - reachable - sliced

    def _right(self, resource: GroupResource, is_right: Callable[[dict[str, Any]], bool]) -> int:
        """
        How many objects of a resource are as they should be.

        Each version of an object is checked only once, so that this check does not keep requests waiting.
        """
        found = 0
        for stored in self._store.log(resource).select(""):
            known = self._judged.get((resource, stored.key))
            if known is None or known[0] != stored.number:
                known = self._judged[resource, stored.key] = stored.number, is_right(stored.decode())
            found += known[1]
        return found

    def _create(self, resource: GroupResource, namespace: str, name: str, obj: dict[str, Any]) -> None:
        meta = {"name": name, "uid": f"uid-{resource.resource}-{namespace}-{name}", "creationTimestamp": CREATED}
        if namespace:
            meta["namespace"] = namespace
        self._store.create(resource, namespace, name, {**obj, "metadata": {**obj.get("metadata", {}), **meta}})

    def _replace(self, resource: GroupResource, namespace: str, name: str, obj: dict[str, Any]) -> None:
        before = self._store.get(resource, namespace, name)
        if before is not None:
            self._store.delete(resource, before)
        self._create(resource, namespace, name, obj)


def recorded_pod() -> dict[str, Any]:
    """A pod as a cluster has it, with all fields that a server and a kubelet set."""
    pod: dict[str, Any] = json.loads(gzip.decompress(RECORDED.read_bytes()))["items"][0]
    return pod


def service_of(name: str) -> dict[str, Any]:
    """A Service of the pods with its name as a label."""
    port = {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}
    families = {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}
    spec = {**families, "ports": [port], "selector": {"app": name, "tier": "web"}, "type": "ClusterIP"}
    return {"spec": spec, "status": {"loadBalancer": {}}}


def _owner(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name, "tier": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "example.com/main"}]}}
    spec = {"replicas": replicas, "selector": labels, "template": template}
    return {"metadata": {"generation": 1}, "spec": spec, "status": {"replicas": 0}}


def pod_of(sample: dict[str, Any], count: int, namespace: str, service: str) -> dict[str, Any]:
    """A Ready pod of a Service and of the ReplicationController with its name."""
    pod = copy.deepcopy(sample)
    ip = f"10.{1 + count // 62500}.{count // 250 % 250}.{count % 250}"
    owner = {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "name": service,
        "uid": f"uid-{OWNERS.resource}-{namespace}-{service}",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    pod["metadata"] |= {"labels": {"app": service, "tier": "web"}, "ownerReferences": [owner]}
    pod["spec"]["nodeName"] = f"node-{count % 10}"
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": CREATED}
    pod["status"] |= {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [ready]}
    return pod


def _ready_replicas(owner: dict[str, Any]) -> int:
    return int((owner.get("status") or {}).get("readyReplicas") or 0)


def _used_pods(quota: dict[str, Any]) -> int:
    used = ((quota.get("status") or {}).get("used") or {}).get("pods", "0")
    return int(float(used.removesuffix("k")) * (1000 if used.endswith("k") else 1))


def _addresses(endpoints: dict[str, Any]) -> int:
    return sum(len(subset.get("addresses") or ()) for subset in endpoints.get("subsets") or ())


@asynccontextmanager
async def serve(namespaces: int, services: int, pods: int, delay: float) -> AsyncIterator[tuple[ApiServer, Commands]]:
    """Serve a full cluster. The command ``right`` is done when all objects are as they should be."""
    async with ApiServer(tls=True, controllers=False) as server:
        cluster = Cluster(server, namespaces, services, pods)
        server.faults.delay(delay, times=sys.maxsize)

        async def reset() -> None:
            cluster.reset()

        async def right() -> None:
            while cluster.missing():  # noqa: ASYNC110  # the storage has no event to wait for
                await anyio.sleep(0.05)

        yield server, {"reset": reset, "right": right}


# The managers' side.


class Start(NamedTuple):
    """
    The figures of a manager's start.

    :param seconds: from the start of the process until all objects are as they should be
    :param cpu: the CPU seconds until then
    :param cpu_later: the CPU seconds until some quiet seconds later
    :param mib: the resident memory at that time, in MiB
    """

    seconds: float
    cpu: float
    cpu_later: float
    mib: float


def start(command: list[str], cluster: Remote) -> Start:
    """Start a manager, measure it, and end it."""
    cluster.do("reset")
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        cluster.do("right")
        seconds, cpu = time.monotonic() - began, cpu_seconds(process.pid)
        time.sleep(QUIET_SECONDS)
        return Start(seconds, cpu, cpu_seconds(process.pid), current_kib(process.pid) / 1024)
    finally:
        process.terminate()
        process.wait(30)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespaces", type=int, default=20)
    parser.add_argument("--services", type=int, default=10, help="services in each namespace")
    parser.add_argument("--pods", type=int, default=100, help="pods of each service")
    parser.add_argument("--delay", type=float, default=0.003, help="by how many seconds each answer is delayed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--other", default="", help="the command of another manager, with KUBECONFIG for the file")
    arguments = parser.parse_args(argv)
    names = ("namespaces", "services", "pods", "delay")
    with remote(serve, **{name: getattr(arguments, name) for name in names}) as cluster:
        file = str(cluster.kubeconfig)
        ours = [sys.executable, "-m", "kinformer", "manager", "--kubeconfig", file, "--controllers", CONTROLLERS]
        commands = {"kinformer": ours}
        if arguments.other:
            commands["other"] = [it.replace("KUBECONFIG", file) for it in shlex.split(arguments.other)]
        found: dict[str, list[Start]] = {name: [] for name in commands}
        for _ in range(arguments.rounds):
            for name, command in commands.items():
                found[name].append(start(command, cluster))
                print(f"{name:10}", _shown(found[name][-1]), flush=True)
    for name, starts in found.items():
        print(f"{name:10}", _shown(_of_all(statistics.median, starts)), "(median)")
    if arguments.other:
        ours_, other = (_of_all(statistics.median, found[name]) for name in ("kinformer", "other"))
        ratios = (f"{field} {a / b:.2f}" for field, a, b in zip(Start._fields, ours_, other, strict=True))
        print("ratios:   ", ", ".join(ratios))


def _of_all(choose: Callable[[list[float]], float], starts: list[Start]) -> Start:
    return Start(*(choose(list(values)) for values in zip(*starts, strict=True)))


def _shown(it: Start) -> str:
    return f"{it.seconds:6.2f} s, CPU {it.cpu:6.2f} s, later {it.cpu_later:6.2f} s, {it.mib:6.0f} MiB"


if __name__ == "__main__":
    main()
