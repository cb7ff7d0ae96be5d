"""A manager with all controllers on a real API server: 1,000 nodes, 10,000 pods.

    python -m benchmarks.all_controllers load    --server URL --token TOKEN --ca FILE
    python -m benchmarks.all_controllers measure --server URL --token TOKEN --ca FILE --command COMMAND

``load`` fills an empty server: Ready nodes with Leases; in each of 10 namespaces, 10 Deployments with ten ReplicaSets
each (one of them has all the pods, as after ten rollouts), a Service and a disruption budget for each Deployment, and a
quota. Pods are bound and run. ``measure`` takes away what controllers have made of them, that is the statuses, the
Endpoints and the EndpointSlices. It then starts the command, and says

- after how many seconds all of these are there again, and how much CPU time the process has used until then,
- how much CPU time it has used after a minute, and how much it used in the quiet minute after that,
- its resident memory at the end, and the highest.

All the while every Lease is renewed every 10 seconds, as kubelets do. The server should limit no rates. With
``--kinds``, a manager that runs only some controllers can be measured: the other kinds are not waited for.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from kinformer.bench.measure import cpu_seconds, current_kib, peak_kib
from kinformer.bench.servers import at_once
from kinformer.client import Client, connect
from kinformer.client.errors import ApiError

REVISIONS = 10
_REVISION = "deployment.kubernetes.io/revision"
_MERGE = {"Content-Type": "application/merge-patch+json"}
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class Cluster:
    """
    The objects on the server.

    :param client: a client without a rate limit
    :param nodes: the number of nodes
    :param pods: the number of pods of each Deployment
    """

    def __init__(self, client: Client, nodes: int, pods: int) -> None:
        self._client = client
        self._nodes = [f"node-{index}" for index in range(nodes)]
        self._pods = pods
        self._apps = [(f"team-{team}", f"app-{app}") for team in range(10) for app in range(10)]
        self._teams = sorted({team for team, _ in self._apps})

    async def load(self) -> None:
        """Create everything. Objects that are there already stay."""
        core = "/api/v1/namespaces"
        for team in ("kube-node-lease", *self._teams):
            await self._create(core, {"metadata": {"name": team}})
        for team in self._teams:
            await self._create(f"{core}/{team}/serviceaccounts", {"metadata": {"name": "default"}})
        await at_once(self._node, enumerate(self._nodes))
        await at_once(self._app, enumerate(self._apps))
        for team in self._teams:
            hard = {"pods": "5k", "requests.cpu": "5k"}
            await self._create(f"{core}/{team}/resourcequotas", {"metadata": {"name": "quota"}, "spec": {"hard": hard}})

    async def reset(self) -> None:
        """Take away what controllers have made."""

        async def one(app: tuple[str, str]) -> None:
            team, name = app
            apps = f"/apis/apps/v1/namespaces/{team}"
            nothing = {"replicas": 0, "readyReplicas": 0, "availableReplicas": 0}
            await self._status(f"{apps}/replicasets/{name}-r{REVISIONS}", {**nothing, "fullyLabeledReplicas": 0})
            await self._status(f"{apps}/deployments/{name}", {**nothing, "updatedReplicas": 0})
            budget = f"/apis/policy/v1/namespaces/{team}/poddisruptionbudgets/{name}"
            await self._status(budget, {"currentHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0})

        await at_once(one, self._apps)
        for team in self._teams:
            await self._status(f"/api/v1/namespaces/{team}/resourcequotas/quota", {"used": {"pods": "0"}})
            for path in (f"/api/v1/namespaces/{team}/endpoints", f"/apis/discovery.k8s.io/v1/namespaces/{team}"):
                path = path if path.endswith("endpoints") else f"{path}/endpointslices"
                await self._client.request("DELETE", path)

    async def settled(self, kinds: Collection[str] = ()) -> None:
        """
        Wait until controllers have made all of it again.

        :param kinds: the resources to wait for; all of them if empty
        """
        everything: list[tuple[str, Callable[[dict[str, Any]], int], int]] = [
            ("/apis/apps/v1/replicasets", self._is_current_and_right, len(self._apps)),
            ("/apis/apps/v1/deployments", lambda it: self._is_full(it["status"]), len(self._apps)),
            ("/apis/policy/v1/poddisruptionbudgets", self._is_healthy, len(self._apps)),
            ("/api/v1/resourcequotas", self._is_counted, len(self._teams)),
            ("/api/v1/endpoints", self._is_reachable, len(self._apps)),
            ("/apis/discovery.k8s.io/v1/endpointslices", _endpoints_of, len(self._apps) * self._pods),
        ]
        for path, right, count in everything:
            if kinds and path.rpartition("/")[2] not in kinds:
                continue
            while sum(map(right, await self._list(path))) < count:  # noqa: ASYNC110  # a list every half second is cheap
                await anyio.sleep(0.5)

    @asynccontextmanager
    async def renewing(self) -> AsyncIterator[None]:
        """Renew all Leases every ten seconds, one after the other, while the block runs."""

        async def renew() -> None:
            while True:
                began = time.monotonic()
                for index, name in enumerate(self._nodes):
                    patch = {"spec": {"renewTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"}}
                    await self._client.request("PATCH", f"{_LEASES}/{name}", body=patch, headers=_MERGE)
                    await anyio.sleep(max(0.0, began + 10.0 * (index + 1) / len(self._nodes) - time.monotonic()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(renew)
            yield
            tasks.cancel_scope.cancel()

    async def _node(self, numbered: tuple[int, str]) -> None:
        index, name = numbered
        types = ("MemoryPressure", "DiskPressure", "PIDPressure")
        healthy = [{"type": type_, "status": "False", "reason": "KubeletHasSufficient"} for type_ in types]
        size = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
        images = [{"names": [f"registry.example/app-{image}:1"], "sizeBytes": 10**8} for image in range(20)]
        address = [{"type": "InternalIP", "address": f"172.16.{index // 250}.{index % 250 + 1}"}]
        status = {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}, *healthy],
            "capacity": size,
            "allocatable": size,
            "addresses": address,
            "images": images,
        }
        zone = {"topology.kubernetes.io/zone": f"zone-{index % 3}", "kubernetes.io/os": "linux"}
        labels = {"kubernetes.io/hostname": name, **zone}
        await self._create("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "status": status})
        lease = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"}
        await self._create(_LEASES, {"metadata": {"name": name}, "spec": lease})

    async def _app(self, numbered: tuple[int, tuple[str, str]]) -> None:
        number, (team, name) = numbered
        apps, core = f"/apis/apps/v1/namespaces/{team}", f"/api/v1/namespaces/{team}"
        labels = {"app": name}
        selector = {"matchLabels": labels}
        about = {"name": name, "annotations": {_REVISION: str(REVISIONS)}}
        spec = {"replicas": self._pods, "selector": selector, "template": _template(labels, REVISIONS)}
        top = await self._create(f"{apps}/deployments", {"metadata": about, "spec": spec})
        for revision in range(1, REVISIONS + 1):
            hashed = {**labels, "pod-template-hash": f"r{revision}"}
            replicas = self._pods if revision == REVISIONS else 0
            owned = {
                "name": f"{name}-r{revision}",
                "labels": hashed,
                "ownerReferences": [_owner("Deployment", top)],
                "annotations": {
                    _REVISION: str(revision),
                    "deployment.kubernetes.io/desired-replicas": str(self._pods),
                    "deployment.kubernetes.io/max-replicas": str(self._pods * 5 // 4),
                },
            }
            template = _template(hashed, revision)
            made = {"replicas": replicas, "selector": {"matchLabels": hashed}, "template": template}
            current = await self._create(f"{apps}/replicasets", {"metadata": owned, "spec": made})
        for index in range(self._pods):
            await self._pod(core, number * self._pods + index, current, template)
        port = {"name": "http", "port": 80, "targetPort": 8080}
        service = {"selector": labels, "ports": [port]}
        await self._create(f"{core}/services", {"metadata": {"name": name, "labels": labels}, "spec": service})
        budget = {"minAvailable": "50%", "selector": selector}
        policy = f"/apis/policy/v1/namespaces/{team}/poddisruptionbudgets"
        await self._create(policy, {"metadata": {"name": name}, "spec": budget})

    async def _pod(self, core: str, count: int, owner: dict[str, Any], template: dict[str, Any]) -> None:
        name = f"{owner['metadata']['name']}-{count:05}"
        node = count % len(self._nodes)
        spec = {**template["spec"], "nodeName": self._nodes[node]}
        labels = template["metadata"]["labels"]
        about = {"name": name, "labels": labels, "ownerReferences": [_owner("ReplicaSet", owner)]}
        await self._create(f"{core}/pods", {"metadata": about, "spec": spec})
        since = "2026-01-01T00:00:00Z"
        types = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        image = {"image": spec["containers"][0]["image"], "imageID": f"sha256:{count:064}"}
        state = {"running": {"startedAt": since}}
        container = {"name": "main", "ready": True, "started": True, "restartCount": 0, "state": state, **image}
        ip = f"10.{1 + count // 62500}.{count // 250 % 250}.{count % 250 + 1}"
        status = {
            "phase": "Running",
            "conditions": [{"type": type_, "status": "True", "lastTransitionTime": since} for type_ in types],
            "hostIP": f"172.16.{node // 250}.{node % 250 + 1}",
            "podIP": ip,
            "podIPs": [{"ip": ip}],
            "startTime": since,
            "containerStatuses": [container],
        }
        await self._status(f"{core}/pods/{name}", status)

    async def _create(self, path: str, obj: dict[str, Any]) -> dict[str, Any]:
        try:
            return json.loads(await self._client.request("POST", path, body=obj))  # type: ignore[no-any-return]
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        return json.loads(await self._client.request("GET", f"{path}/{obj['metadata']['name']}"))  # type: ignore[no-any-return]

    async def _status(self, path: str, status: dict[str, Any]) -> None:
        await self._client.request("PATCH", f"{path}/status", body={"status": status}, headers=_MERGE)

    async def _list(self, path: str) -> list[dict[str, Any]]:
        found = json.loads(await self._client.request("GET", path, params={"resourceVersion": "0"}))
        return found["items"] or []

    def _is_full(self, status: dict[str, Any]) -> bool:
        return bool(status.get("availableReplicas", 0) == status.get("readyReplicas", 0) == self._pods)

    def _is_current_and_right(self, it: dict[str, Any]) -> bool:
        return bool(it["spec"]["replicas"]) and self._is_full(it["status"])

    def _is_healthy(self, it: dict[str, Any]) -> bool:
        return bool(it["status"]["currentHealthy"] == self._pods)

    def _is_counted(self, it: dict[str, Any]) -> bool:
        return bool(it["status"].get("used", {}).get("pods") in (str(10 * self._pods), f"{self._pods / 100:g}k"))

    def _is_reachable(self, it: dict[str, Any]) -> bool:
        return sum(len(part.get("addresses") or ()) for part in it.get("subsets") or ()) == self._pods


def _endpoints_of(endpoint_slice: dict[str, Any]) -> int:
    return len(endpoint_slice.get("endpoints") or ())


def _template(labels: dict[str, str], revision: int) -> dict[str, Any]:
    requests = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    probe = {"httpGet": {"path": "/ready", "port": 8080}}
    env = [{"name": f"SETTING_{index}", "value": f"value-{index}"} for index in range(10)]
    main = {"name": "main", "image": f"registry.example/app:{revision}", "resources": requests, "env": env}
    main |= {"readinessProbe": probe, "ports": [{"containerPort": 8080}]}
    return {"metadata": {"labels": labels}, "spec": {"containers": [main]}}


def _owner(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    meta = obj["metadata"]
    who = {"apiVersion": "apps/v1", "kind": kind, "name": meta["name"], "uid": meta["uid"]}
    return {**who, "controller": True, "blockOwnerDeletion": True}


def _started(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("w") as output:
        return subprocess.Popen(command, stdout=output, stderr=output)


async def measure(cluster: Cluster, command: list[str], seconds: float, log: Path, kinds: Collection[str] = ()) -> None:
    async with cluster.renewing():
        await cluster.reset()
        began = time.monotonic()
        process = _started(command, log)
        try:
            with anyio.fail_after(600):
                await cluster.settled(kinds)
            took, cpu = time.monotonic() - began, cpu_seconds(process.pid)
            print(f"settled {took:.1f} s, CPU {cpu:.1f} s", flush=True)
            await anyio.sleep(max(0.0, began + seconds - time.monotonic()))
            minute = cpu_seconds(process.pid)
            print(f"CPU {minute:.1f} s after {time.monotonic() - began:.0f} s", flush=True)
            quiet = time.monotonic()
            await anyio.sleep(seconds)
            rest = (cpu_seconds(process.pid) - minute) / (time.monotonic() - quiet)
            now, most = current_kib(process.pid) / 1024, peak_kib(process.pid) / 1024
            print(f"at rest {rest * 100:.2f} % of a core, {now:.0f} MiB, at most {most:.0f} MiB", flush=True)
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()


async def run(arguments: argparse.Namespace) -> None:
    async with connect(url=arguments.server, token=arguments.token, ca_file=arguments.ca) as client:
        cluster = Cluster(client, arguments.nodes, arguments.pods // 100)
        if arguments.what == "load":
            await cluster.load()
        else:
            await measure(cluster, arguments.command, arguments.seconds, arguments.log, arguments.kinds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("load", "measure"))
    parser.add_argument("--server", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--ca")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10_000, help="in all; a multiple of 100")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the start and the rest are watched")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=(), help="wait for these resources only")
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="file for the output of the command")
    parser.add_argument("--command", type=shlex.split, default=[], help="starts the manager that is measured")
    anyio.run(partial(run, parser.parse_args()))


if __name__ == "__main__":
    main()
