"""The horizontal pod autoscaler at scale: 10,000 autoscalers, each evaluated once in 15 seconds.

The autoscalers and their pods (two each) are in caches that are filled directly. Scales and metrics come over HTTP from
a server in another process, which answers at once. So the CPU time is that of the controller and its client.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from benchmarks.node_health import Caches
from benchmarks.peers.protocol import kubeconfig
from kinformer.bench.measure import Stopwatch, peak_kib
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import Commands, remote
from kinformer.client import connect
from kinformer.clock import RealClock
from kinformer.manager import ControllerContext
from kinformer.models import V1Pod, V2HorizontalPodAutoscaler, from_dict
from kinformer_controllers.horizontalpodautoscaler.controller import HorizontalPodAutoscalerController

PERIOD = 15.0
PODS = 2
#: The targets in each namespace; the server's.
APPS: dict[str, list[str]] = {}
_SCALE = {"resource": "deployments", "subresources": [{"subresource": "scale"}], "scope": "Namespaced"}
_DISCOVERY = {
    "kind": "APIGroupDiscoveryList",
    "apiVersion": "apidiscovery.k8s.io/v2",
    "items": [
        {
            "metadata": {"name": "apps"},
            "versions": [
                {"version": "v1", "resources": [{**_SCALE, "responseKind": {"kind": "Deployment"}, "verbs": ["get"]}]}
            ],
        }
    ],
}


def answer(path: str) -> dict[str, Any]:
    """What the server says to a GET."""
    if path in ("/api", "/apis"):
        return _DISCOVERY if path == "/apis" else {**_DISCOVERY, "items": []}
    parts = path.split("/")
    if path.partition("?")[0].endswith("/scale"):
        name = parts[-2]
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {"name": name, "namespace": parts[5], "uid": name, "resourceVersion": "1"},
            "spec": {"replicas": PODS},
            "status": {"replicas": PODS, "selector": f"app={name}"},
        }
    selected = path.rpartition("%3D")[2] if "%3D" in path else ""
    here = [selected] if selected else APPS[parts[5]]
    usage = [{"name": "c", "usage": {"cpu": "51m", "memory": "20Mi"}}]
    pod = {"timestamp": "2026-01-01T00:00:00Z", "window": "30s", "containers": usage}
    return {
        "items": [
            {"metadata": {"name": f"{name}-{number}", "labels": {"app": name}}, **pod}
            for name in here
            for number in range(PODS)
        ]
    }


class Answering(asyncio.Protocol):
    """One connection: requests without bodies, one after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in requests:
            path = request.split(b" ", 2)[1].decode()
            body = json.dumps(answer(path)).encode()
            kind = b"application/json"
            if path in ("/api", "/apis"):
                kind += b";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (kind, len(body))
            self._transport.write(head + body)


class MetricsServer:
    """
    The server.

    :param port: its port, without TLS
    """

    def __init__(self, port: int) -> None:
        self._port = port

    def write_kubeconfig(self, path: str, /) -> None:
        """Write the file by which clients find it."""
        Path(path).write_text(json.dumps(kubeconfig(f"http://127.0.0.1:{self._port}")))


@asynccontextmanager
async def serve(autoscalers: int, namespaces: int) -> AsyncIterator[tuple[MetricsServer, Commands]]:
    """Serve the scales and metrics of so many targets."""
    for number in range(autoscalers):
        APPS.setdefault(f"ns-{number % namespaces}", []).append(f"app-{number}")
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    async with server:
        yield MetricsServer(server.sockets[0].getsockname()[1]), {}


def autoscaler(name: str, namespace: str) -> V2HorizontalPodAutoscaler:
    target = {"type": "Utilization", "averageUtilization": 50}
    status: dict[str, Any] = {"currentReplicas": PODS, "desiredReplicas": PODS}
    return from_dict(
        V2HorizontalPodAutoscaler,
        {
            "metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "minReplicas": 1,
                "maxReplicas": 10,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
            },
            "status": status,
        },
    )


def pod(name: str, namespace: str, app: str) -> V1Pod:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    return from_dict(
        V1Pod,
        {
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}},
            "spec": {"containers": [container]},
            "status": {"phase": "Running", "startTime": "2025-01-01T00:00:00Z", "conditions": [ready]},
        },
    )


async def measure(autoscalers: int, namespaces: int, seconds: float) -> Figures:
    """
    Measure evaluations.

    :param seconds: how long
    """
    with remote(serve, autoscalers=autoscalers, namespaces=namespaces) as server:
        return await _evaluate(server.kubeconfig, autoscalers, namespaces, seconds)


async def _evaluate(file: Path, autoscalers: int, namespaces: int, seconds: float) -> Figures:
    caches: Any = Caches()
    async with connect(kubeconfig=file) as client:
        context = ControllerContext(client, caches, {"concurrent_horizontal_pod_autoscaler_syncs": 20}, RealClock())
        made = HorizontalPodAutoscalerController(context)
        evaluated = 0

        async def write(hpa: Any) -> Any:
            nonlocal written
            written += 1
            caches.informer_for(V2HorizontalPodAutoscaler).indexer.update(hpa)
            return hpa

        written = 0
        made._server.update_status = write  # type: ignore[method-assign]  # the server keeps nothing
        for number in range(autoscalers):
            name, namespace = f"app-{number}", f"ns-{number % namespaces}"
            caches.informer_for(V2HorizontalPodAutoscaler).indexer.add(autoscaler(name, namespace))
            made.on_add(autoscaler(name, namespace), True)
            for each in range(PODS):
                caches.informer_for(V1Pod).indexer.add(pod(f"{name}-{each}", namespace, name))
        sync = made.controller._sync

        async def counted(key: str) -> Any:
            nonlocal evaluated
            evaluated += 1
            return await sync(key)

        made.controller._sync = counted
        made.controller._registrations.clear()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.controller.run)
            await anyio.sleep(2 * PERIOD)  # the first evaluation writes every status
            evaluated, watch = 0, Stopwatch()
            await anyio.sleep(seconds)
            took, used = watch.wall, watch.cpu
            tasks.cancel_scope.cancel()
    return {
        "evaluations": evaluated,
        "us CPU each": round(used / max(evaluated, 1) * 1e6),
        "of a core": round(used / took, 2),
        "MiB": round(peak_kib() / 1024),
    }


CASES = {
    "autoscalers": Case(
        "Horizontal pod autoscalers, each evaluated once in 15 seconds",
        measure,
        each("autoscalers", (10_000,), namespaces=100, seconds=2 * PERIOD),
        each("autoscalers", (200,), namespaces=10, seconds=PERIOD),
        ("us CPU each",),
        lower_is_better=True,
    )
}
