"""What the quota webhook manages: ``python -m benchmarks.quota_webhook [--replicas N] [--never-stored]``.

The API server, each replica of the webhook, and who asks are a process each. Who asks does what kube-apiserver does
with a create of a pod: it makes the pod's uid up and sends an AdmissionReview over HTTPS to one of the replicas. If the
pod is admitted, it is stored with that uid. So each charge is reserved first and belongs to a stored object afterwards,
which is most of what the webhook has to do. With ``--never-stored`` nothing is stored, and all reservations stay.

Each connection belongs to one replica and asks again when its pod is stored. There is room for every request: one that
is refused all the same is counted, with the reason. An answer's time does not include storing the pod. CPU time is that
of the replicas alone. In the end the quota must say what is stored; the benchmark fails if it does not in time.
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
#: The annotation by which a pod tells the server the uid that was reviewed.
UID = "benchmarks.kinformer.dev/uid"
#: Seconds until the quota says what is stored, at most: a leader looks at what is reserved each five seconds.
SETTLED = 30.0


class ReviewedUids:
    """
    An admission plug-in: a pod keeps the uid with which it was reviewed.

    kube-apiserver does both, the uid and the question; here the client asks, and tells the uid by an annotation.
    """

    def admit(self, attributes: Attributes) -> None:
        """Nothing: the server is yet to give an object its uid."""

    def validate(self, attributes: Attributes) -> None:
        """Replace the uid that the server gave."""
        if attributes.operation == "CREATE" and attributes.object is not None:
            metadata = attributes.object["metadata"]
            metadata["uid"] = (metadata.get("annotations") or {}).get(UID) or metadata["uid"]


async def serve(kubeconfig: str) -> None:
    """An embedded API server that keeps reviewed uids, until it is interrupted."""
    async with ApiServer(plugins=False) as server:
        server.admission.plugins.append(ReviewedUids())
        server.write_kubeconfig(kubeconfig)
        print("serving", flush=True)
        await anyio.sleep_forever()


@contextmanager
def process(*command: str) -> Iterator[tuple[int, str]]:
    """A Python process, once it has said that it serves: its id and what it said."""
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
    """What a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Load:
    """
    What is asked.

    :param rate: requests a second, however long the answers take; each connection asks when it has its answer if None
    :param is_stored: whether pods are stored that are admitted
    """

    replicas: int = 1
    requests: int = 1500
    connections: int = 64
    rate: float | None = None
    is_stored: bool = True


@dataclass(slots=True)
class Outcome:
    """
    What came of it.

    :ivar refused: how often, by code and message
    :ivar times: seconds until each answer
    :ivar writes: of anything but pods
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
        """What is answered to the create of a pod."""
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
    Start all processes, ask, and see to it that the quota says in the end what is stored.

    :raises SystemExit: if it does not
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
    """How many writes the server has seen: its versions are numbers in a row."""
    return int((await resource.list(limit=1)).resource_version)


async def _until(true: Callable[[dict[str, Any]], bool], quotas: Any) -> None:
    """Return when the quota's status is as wanted."""
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
    parser.add_argument("--rate", type=float, help="requests a second; as many as there are answers if not given")
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
