"""The throughput of the quota webhook.

The API server, each replica of the webhook, and the client have their own processes. The client does what
kube-apiserver does for a create of a pod: it chooses the pod's uid and sends an AdmissionReview over HTTPS to one of
the replicas. If the pod is admitted, it is stored with that uid. So each charge is reserved first, and later belongs to
a stored object; this is most of the webhook's work. If nothing is stored, all reservations stay.

Each connection goes to one replica, and sends its next request when its pod is stored. The quota has room for every
request. If one is refused nevertheless, it is counted with the reason. The time of an answer does not include storing
the pod. CPU time is that of the replicas. At the end the quota must say what is stored; the benchmark fails if this
takes too long.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import yaml

from kinformer.bench.measure import Stopwatch, cpu_seconds
from kinformer.bench.results import BenchError, Figures
from kinformer.bench.runner import Case
from kinformer.bench.servers import Commands, remote
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.admission import Attributes
from kinformer.envtest.certificates import Authority

ROOT = Path(__file__).parents[1]
CRD = ROOT / "docs" / "controllers" / "quota-webhook" / "crd.yaml"
WEBHOOK = "from kinformer_controllers.groupquota.command import quota_webhook; quota_webhook()"
#: The annotation of a pod with the uid that was reviewed.
UID = "benchmarks.kinformer.dev/uid"
STORED, NEVER_STORED = "stored", "never stored"
#: The most seconds until the quota says what is stored. A leader looks at the reservations every five seconds.
SETTLED = 30.0


class ReviewedUids:
    """
    An admission plug-in: a pod keeps the uid with which it was reviewed.

    kube-apiserver chooses the uid and asks the webhook. Here the client does both, and an annotation has the uid.
    """

    def admit(self, attributes: Attributes) -> None:
        """Do nothing: the server gives the object its uid later."""

    def validate(self, attributes: Attributes) -> None:
        """Replace the uid that the server gave."""
        if attributes.operation == "CREATE" and attributes.object is not None:
            metadata = attributes.object["metadata"]
            metadata["uid"] = (metadata.get("annotations") or {}).get(UID) or metadata["uid"]


@asynccontextmanager
async def serve() -> AsyncIterator[tuple[ApiServer, Commands]]:
    """Run an embedded API server with :class:`ReviewedUids`."""
    async with ApiServer(plugins=False) as server:
        server.admission.plugins.append(ReviewedUids())
        yield server, {}


@contextmanager
def process(*command: str) -> Iterator[tuple[int, str]]:
    """Start a Python process, and wait until it prints that it serves. Yields its id and the line that it printed."""
    running = subprocess.Popen(
        [sys.executable, "-u", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith("serving"):
                yield running.pid, line
                return
        raise BenchError(f"{' '.join(command[:4])} ended early")
    finally:
        running.terminate()
        running.wait()


@dataclass(slots=True)
class Outcome:
    """
    The result of a run.

    :ivar admitted: how many requests were admitted
    :ivar refused: how many requests were refused, by code and message
    :ivar times: the seconds until each answer
    :ivar seconds: how long the run took
    :ivar cpu: the CPU seconds of the replicas
    :ivar writes: how many objects other than pods were written
    """

    admitted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0
    writes: int = 0

    def figures(self) -> Figures:
        """The figures of a row."""
        times, asked = sorted(self.times), len(self.times)
        p50, p99 = (round(times[int(asked * share)] * 1000) for share in (0.5, 0.99))
        return {
            "requests/s": round(asked / self.seconds),
            "ms CPU/request": round(self.cpu / asked * 1000, 2),
            "requests/write": round(asked / max(self.writes, 1), 1),
            "p50 ms": p50,
            "p99 ms": p99,
            "longest s": round(times[-1], 1),
            "refused": self.refused.total(),
            "most often because": next((why for why, _ in self.refused.most_common(1)), ""),
        }


class Asker:
    """One connection to one replica."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port: int, tls: ssl.SSLContext) -> Asker:
        return cls(*await asyncio.open_connection("localhost", port, ssl=tls))

    async def is_ready(self) -> bool:
        """Whether the replica says that it is ready. The connection is closed."""
        self._writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await self._reader.read()
        self._writer.close()
        return b" 200 " in answer.partition(b"\r\n")[0]

    async def ask(self, pod: dict[str, Any]) -> dict[str, Any]:
        """Send the review of a pod's create; returns the response."""
        body = json.dumps(_review(pod)).encode()
        lines = ["POST /validate?timeout=10s HTTP/1.1", "Host: x", "Content-Type: application/json"]
        head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        found: dict[str, Any] = json.loads(await self._reader.readexactly(int(length.partition(b":")[2])))
        return found["response"]


def tls_flags(folder: Path) -> tuple[list[str], ssl.SSLContext]:
    """Write a certificate and its key; returns the flags of a replica that has them, and what a client trusts."""
    authority = Authority()
    pair = authority.issue("localhost", hosts=("localhost",))
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    flags = ["--tls-cert-file", str(certificate), "--tls-private-key-file", str(key)]
    return flags, ssl.create_default_context(cadata=authority.certificate.decode())


def new_pod(number: int, namespace: str = "default") -> dict[str, Any]:
    """A small pod. An annotation has its uid."""
    uid = str(uuid.uuid4())
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]
    metadata = {
        "name": f"pod-{number}",
        "namespace": namespace,
        "uid": uid,
        "labels": {"app": "web"},
        "annotations": {UID: uid},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


def _review(pod: dict[str, Any]) -> dict[str, Any]:
    request = {
        "uid": pod["metadata"]["uid"],
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": pod["metadata"]["namespace"],
        "name": pod["metadata"]["name"],
        "object": pod,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


async def measure(replicas: int, pods: str, requests: int, connections: int, rate: float | None = None) -> Figures:
    """
    Start all processes, send the requests, and wait until the quota says what is stored.

    :param replicas: the number of replicas of the webhook
    :param pods: whether admitted pods are stored: :data:`STORED` or :data:`NEVER_STORED`
    :param rate: requests a second, however long the answers take; if None, each connection sends its next request when
        it has its answer
    :raises BenchError: if the quota takes longer than :data:`SETTLED`, or a process ends early
    """
    is_stored = pods == STORED
    with tempfile.TemporaryDirectory() as folder, ExitStack() as processes:
        flags, tls = tls_flags(Path(folder))
        kubeconfig = str(processes.enter_context(remote(serve)).kubeconfig)
        async with connect(kubeconfig) as client:
            definitions: Any = client.resource(dict, ("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
            await definitions.create(yaml.safe_load(CRD.read_text()))
            quotas: Any = client.resource(dict, ("quota.kinformer.dev", "v1", "groupquotas"), namespaced=False)
            quota = {
                "apiVersion": "quota.kinformer.dev/v1",
                "kind": "GroupQuota",
                "metadata": {"name": "g"},
                "spec": {"namespaceSelector": {}, "hard": {"pods": "1M", "requests.cpu": "1M"}},
            }
            await quotas.create(quota)
            flags += ["--kubeconfig", kubeconfig, "--host", "127.0.0.1", "--port", "0"]
            flags += ["--leader-elect"] if replicas > 1 else []
            started = [processes.enter_context(process("-c", WEBHOOK, *flags)) for _ in range(replicas)]
            ports = [int(said.split("/validate")[0].rpartition(":")[2]) for _, said in started]
            pids = [pid for pid, _ in started]
            await until_status(lambda status: "used" in status, quotas)
            askers = [await Asker.to(ports[number % len(ports)], tls) for number in range(connections)]
            resource: Any = client.resource(dict, ("", "v1", "pods"))
            before, watch, cpu = await _version(resource), Stopwatch(), sum(map(cpu_seconds, pids))
            outcome = await _ask(requests, rate, askers, resource if is_stored else None)
            outcome.seconds, outcome.cpu = watch.wall, sum(map(cpu_seconds, pids)) - cpu
            stored = outcome.admitted if is_stored else 0
            outcome.writes = await _version(resource) - before - stored
            if is_stored:
                settled = {"used": str(stored), "reserved": 0}
                await until_status(
                    lambda status: (
                        {"used": status["used"]["pods"], "reserved": len(status.get("reservations") or ())} == settled
                    ),
                    quotas,
                )
            return outcome.figures()


async def _version(resource: Any) -> int:
    """The latest resourceVersion. The server increases it by one for each write, so it counts the writes."""
    return int((await resource.list(limit=1)).resource_version)


async def until_status(true: Callable[[dict[str, Any]], bool], quotas: Any) -> None:
    """
    Wait until the quota's status is as it should be.

    :raises BenchError: if it takes longer than :data:`SETTLED`
    """
    end = time.monotonic() + SETTLED
    while not true(status := (await quotas.get("g")).get("status") or {}):
        if time.monotonic() > end:
            used, reserved = status.get("used"), len(status.get("reservations") or ())
            raise BenchError(f"after {SETTLED:.0f} s used is {used}, {reserved} reserved")
        await anyio.sleep(0.2)


async def _ask(requests: int, rate: float | None, askers: list[Asker], pods: Any) -> Outcome:
    outcome = Outcome()

    async def one(asker: Asker, number: int, due: float) -> None:
        pod = new_pod(number)
        response = await asker.ask(pod)
        outcome.times.append(time.perf_counter() - due)
        if not response["allowed"]:
            status = response["status"]
            outcome.refused[f"{status['code']}: {status['message']}"] += 1
            return
        outcome.admitted += 1
        if pods is not None:
            await pods.create(pod)

    numbers = iter(range(requests))

    async def busy(asker: Asker) -> None:
        for number in numbers:
            await one(asker, number, time.perf_counter())

    if rate is None:
        await asyncio.gather(*map(busy, askers))
        return outcome
    free: asyncio.Queue[Asker] = asyncio.Queue()
    for asker in askers:
        free.put_nowait(asker)

    async def borrowed(number: int, due: float) -> None:
        asker = await free.get()
        try:
            await one(asker, number, due)
        finally:
            free.put_nowait(asker)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number in numbers:
            due = began + number / rate
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            tasks.create_task(borrowed(number, due))
    return outcome


def _loads(*replicas: int, **sizes: int) -> tuple[dict[str, Any], ...]:
    return tuple({"replicas": count, "pods": pods, **sizes} for count in replicas for pods in (STORED, NEVER_STORED))


CASES = {
    "quota-webhook": Case(
        "Requests to the quota webhook, all of which change one quota",
        measure,
        _loads(1, 3, requests=1_500, connections=64),
        _loads(1, 3, requests=50, connections=8),
        ("ms CPU/request",),
        lower_is_better=True,
    )
}
