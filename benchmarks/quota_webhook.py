"""The throughput of the quota webhook: ``python -m benchmarks.quota_webhook [--replicas N] [--never-stored]``.

The API server, each replica of the webhook, and the client have their own processes. The client does what
kube-apiserver does for a create of a pod: it chooses the pod's uid and sends an AdmissionReview over HTTPS to one of
the replicas. If the pod is admitted, it is stored with that uid. So each charge is reserved first, and later belongs to
a stored object; this is most of the webhook's work. With ``--never-stored`` nothing is stored, and all reservations
stay.

Each connection goes to one replica, and sends its next request when its pod is stored. The quota has room for every
request. If one is refused nevertheless, it is counted with the reason. The time of an answer does not include storing
the pod. CPU time is that of the replicas. At the end the quota must say what is stored; the benchmark fails if this
takes too long.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import yaml

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.admission import Attributes

__all__ = ("Load", "Outcome", "measure")

ROOT = Path(__file__).parents[1]
CRD = ROOT / "docs" / "controllers" / "quota-webhook" / "crd.yaml"
WEBHOOK = "from kinformer_controllers.groupquota.command import quota_webhook; quota_webhook()"
#: The annotation of a pod with the uid that was reviewed.
UID = "benchmarks.kinformer.dev/uid"
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


async def serve(kubeconfig: str) -> None:
    """Run an embedded API server with :class:`ReviewedUids` until it is interrupted."""
    async with ApiServer(plugins=False) as server:
        server.admission.plugins.append(ReviewedUids())
        server.write_kubeconfig(kubeconfig)
        print("serving", flush=True)
        await anyio.sleep_forever()


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
        raise SystemExit(f"{' '.join(command[:4])} ended early")
    finally:
        running.terminate()
        running.wait()


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Load:
    """
    The requests of a run.

    :param replicas: the number of replicas of the webhook
    :param requests: the number of requests
    :param connections: the number of connections
    :param rate: requests a second, however long the answers take; if None, each connection sends its next request when
        it has its answer
    :param is_stored: whether admitted pods are stored
    """

    replicas: int = 1
    requests: int = 1500
    connections: int = 64
    rate: float | None = None
    is_stored: bool = True


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

    def __str__(self) -> str:
        times, asked = sorted(self.times), len(self.times)
        p50, p99 = (times[int(asked * share)] * 1000 for share in (0.5, 0.99))
        said = (
            f"{asked / self.seconds:,.0f} requests/s; {self.cpu / asked * 1000:.2f} ms of the replicas' CPU for each; "
            f"{asked / max(self.writes, 1):.1f} requests to a write; p50 {p50:.0f} ms, p99 {p99:.0f} ms, "
            f"the longest {times[-1]:.1f} s; refused: {self.refused.total()}"
        )
        return "\n".join([said, *(f"    {count} times {why}" for why, count in self.refused.most_common())])


class Asker:
    """One connection to one replica."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port: int, tls: ssl.SSLContext) -> Asker:
        return cls(*await asyncio.open_connection("localhost", port, ssl=tls))

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


def _pod(number: int) -> dict[str, Any]:
    uid = str(uuid.uuid4())
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]
    metadata = {
        "name": f"pod-{number}",
        "namespace": "default",
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
        "namespace": "default",
        "name": pod["metadata"]["name"],
        "object": pod,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


async def measure(load: Load) -> Outcome:
    """
    Start all processes, send the requests, and wait until the quota says what is stored.

    :raises SystemExit: if this takes longer than :data:`SETTLED`, or a process ends early
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as processes:
        key, certificate, kubeconfig = (str(Path(folder) / name) for name in ("tls.key", "tls.crt", "kubeconfig"))
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
        await anyio.run_process(["openssl", "req", "-x509", *curve, "-keyout", key, "-out", certificate, *subject])
        processes.enter_context(process("-m", "benchmarks.quota_webhook", "--serve", kubeconfig))
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
            flags = ["--kubeconfig", kubeconfig, "--tls-cert-file", certificate, "--tls-private-key-file", key]
            flags += ["--host", "127.0.0.1", "--port", "0", *(["--leader-elect"] if load.replicas > 1 else [])]
            started = [processes.enter_context(process("-c", WEBHOOK, *flags)) for _ in range(load.replicas)]
            ports = [int(said.split("/validate")[0].rpartition(":")[2]) for _, said in started]
            pids = [pid for pid, _ in started]
            await _until(lambda status: "used" in status, quotas)
            tls = ssl.create_default_context(cafile=certificate)
            askers = [await Asker.to(ports[number % len(ports)], tls) for number in range(load.connections)]
            pods: Any = client.resource(dict, ("", "v1", "pods"))
            before, began, cpu = await _version(pods), time.perf_counter(), sum(map(cpu_seconds, pids))
            outcome = await _ask(load, askers, pods)
            outcome.seconds, outcome.cpu = time.perf_counter() - began, sum(map(cpu_seconds, pids)) - cpu
            stored = outcome.admitted if load.is_stored else 0
            outcome.writes = await _version(pods) - before - stored
            if load.is_stored:
                settled = {"used": str(stored), "reserved": 0}
                await _until(
                    lambda status: (
                        {"used": status["used"]["pods"], "reserved": len(status.get("reservations") or ())} == settled
                    ),
                    quotas,
                )
            return outcome


async def _version(resource: Any) -> int:
    """The latest resourceVersion. The server increases it by one for each write, so it counts the writes."""
    return int((await resource.list(limit=1)).resource_version)


async def _until(true: Callable[[dict[str, Any]], bool], quotas: Any) -> None:
    """Return when the quota's status is as wanted. Ends the program if it takes longer than :data:`SETTLED`."""
    end = time.monotonic() + SETTLED
    while not true((await quotas.get("g")).get("status") or {}):
        if time.monotonic() > end:
            status = (await quotas.get("g"))["status"]
            raise SystemExit(f"after {SETTLED:.0f} s used is {status['used']}, {len(status['reservations'])} reserved")
        await anyio.sleep(0.2)


async def _ask(load: Load, askers: list[Asker], pods: Any) -> Outcome:
    outcome = Outcome()

    async def one(asker: Asker, number: int, due: float) -> None:
        pod = _pod(number)
        response = await asker.ask(pod)
        outcome.times.append(time.perf_counter() - due)
        if not response["allowed"]:
            status = response["status"]
            outcome.refused[f"{status['code']}: {status['message']}"] += 1
            return
        outcome.admitted += 1
        if load.is_stored:
            await pods.create(pod)

    numbers = iter(range(load.requests))

    async def busy(asker: Asker) -> None:
        for number in numbers:
            await one(asker, number, time.perf_counter())

    if load.rate is None:
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
            due = began + number / load.rate
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            tasks.create_task(borrowed(number, due))
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, nargs="*", default=[1, 3])
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rate", type=float, help="requests a second; by default each connection waits for its answer")
    parser.add_argument("--never-stored", action="store_true", help="admitted pods are not stored")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        anyio.run(serve, options.serve)
        return
    what = "never stored" if options.never_stored else "stored"
    for _ in range(options.rounds):
        for replicas in options.replicas:
            load = Load(replicas, options.requests, options.connections, options.rate, not options.never_stored)
            print(
                f"{replicas} replicas, {options.connections} connections, {what}: {anyio.run(measure, load)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
