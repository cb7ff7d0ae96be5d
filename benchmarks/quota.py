"""What quotas cost: ``python -m benchmarks.quota [recount] [full] [webhook]``.

- ``recount``: one quota in a namespace of 10,000 pods. Once with a cache that was filled from the recorded pods, and
  once with an informer that has listed them over HTTP from an embedded server in another process. The first time no pod
  has been looked at; from then on what each version of a pod uses is remembered. Besides: pods whose statuses another
  controller has read before, and pods of which no two are alike;
- ``full``: every quota of 1,000 namespaces with 100,000 pods in all, and the longest time that the event loop was held;
- ``webhook``: AdmissionReviews over HTTPS, each charged to a GroupQuota. The webhook, the API server that it writes to
  and who asks are a process each. What the webhook manages on one core is told by its CPU time, whatever else runs.

The pods are recorded ones, of some templates as pods are, 0.9 KiB of JSON each and most of them running. The cycle
collector is off, as a controller manager runs. A first recount cannot be repeated: each is that of new objects.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import gzip
import json
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import structlog
import yaml

from kinformer.cache import NAMESPACE_INDEX, Indexer, ListWatch, SharedIndexInformer, namespace_index_func
from kinformer.client import Client, connect
from kinformer.meta import accessor_for
from kinformer.models import (
    V1Namespace,
    V1ObjectMeta,
    V1Pod,
    V1ResourceQuota,
    V1ResourceRequirements,
    decode,
    detacher_for,
    encode,
    from_dict,
)
from kinformer_controllers.resourcequota.recount import Recounter
from kinformer_controllers.shared.quota import InformerSource, PodEvaluator, Registry

ROOT = Path(__file__).parents[1]
CRD = ROOT / "docs" / "controllers" / "quota-webhook" / "crd.yaml"
RECORDED = ROOT / "tests" / "golden" / "streams" / "pods_list.json.gz"
HARD = {"pods": "1k", "requests.cpu": "1k", "requests.memory": "10Ti"}
#: How often what can be measured only once is measured, each time with new objects.
ROUNDS = 7
WEBHOOK = "from kinformer_controllers.groupquota.command import quota_webhook; quota_webhook()"


class Pods:
    """An informer's cache of pods, without the informer."""

    name = "pods"
    has_synced = True
    pending = 0

    def __init__(self, count: int, namespaces: int) -> None:
        samples = json.loads(gzip.decompress(RECORDED.read_bytes()))["items"]
        self.indexer: Indexer[V1Pod] = Indexer(
            accessor_for(V1Pod), {NAMESPACE_INDEX: lambda pod: (pod.metadata.namespace,)}
        )
        detach = detacher_for(V1Pod)
        for number in range(count):
            sample = samples[number % len(samples)]
            meta = sample["metadata"]
            meta["name"] = meta["uid"] = f"pod-{number}"
            meta["namespace"], meta["resourceVersion"] = f"ns-{number % namespaces}", str(number + 1)
            pod = decode(V1Pod, json.dumps(sample))
            detach(pod)
            self.indexer.add(pod)


class Quotas:
    """Where statuses go."""

    def __init__(self) -> None:
        self.written: dict[str, V1ResourceQuota] = {}

    async def update_status(self, quota: V1ResourceQuota) -> V1ResourceQuota:
        self.written[f"{quota.metadata.namespace}/{quota.metadata.name}"] = quota
        return quota


def make_quota(namespace: str) -> V1ResourceQuota:
    metadata = {"name": "q", "namespace": namespace, "resourceVersion": "1"}
    return from_dict(V1ResourceQuota, {"metadata": metadata, "spec": {"hard": HARD}})


async def recount(pods: int = 10_000) -> None:
    def read(pod: V1Pod, number: int) -> None:
        assert pod.status is not None

    def make_unlike(pod: V1Pod, number: int) -> None:
        spec = pod.spec
        spec.containers[0].resources = V1ResourceRequirements(requests={"cpu": f"{number + 1}m", "memory": "16Mi"})
        fresh = decode(V1Pod, encode(pod))
        V1Pod.__lazy_fields__["spec"].poke(pod, V1Pod.__lazy_fields__["spec"].peek(fresh))

    await _recount(f"{pods:,} pods", lambda: InformerSource(Pods(pods, 1)))  # type: ignore[arg-type]  # what is read
    for label, change in (("whose statuses were read", read), ("no two alike", make_unlike)):

        def filled(change: Callable[[V1Pod, int], None] = change) -> InformerSource:
            cache = Pods(pods, 1)
            for number, pod in enumerate(cache.indexer.list()):
                change(pod, number)
            return InformerSource(cache)  # type: ignore[arg-type]  # as above

        await _recount(f"{pods:,} pods, {label}", filled)
    with apiserver() as kubeconfig:
        async with connect(kubeconfig) as client, anyio.create_task_group() as tasks:
            await _create(client, Pods(pods, 1).indexer.list())
            sources = []
            for _ in range(ROUNDS):
                informer = SharedIndexInformer(
                    ListWatch(client.resource(V1Pod)),
                    V1Pod,
                    indexers={NAMESPACE_INDEX: namespace_index_func(accessor_for(V1Pod))},
                )
                tasks.start_soon(informer.run)
                await informer.wait_synced()
                sources.append(InformerSource(informer))
            await _recount(f"{pods:,} pods, listed over HTTP", sources.pop)
            tasks.cancel_scope.cancel()


async def _recount(label: str, source: Callable[[], InformerSource]) -> None:
    first, later = [], []
    for _ in range(ROUNDS):
        quotas: Any = Quotas()
        recounter = Recounter(quotas, Registry([PodEvaluator(source())]), None)
        quota = make_quota("ns-0")
        for times in (first, later, later, later):
            began = time.perf_counter()
            await recounter.recount(quota)
            times.append((time.perf_counter() - began) * 1000)
        assert quotas.written["ns-0/q"].status.used["pods"]
    spread = f"{statistics.median(first):.1f} ms ({min(first):.1f} to {max(first):.1f})"
    print(f"recount of a quota over {label}: first {spread}, then {statistics.median(later):.1f} ms")


async def _create(client: Client, pods: list[V1Pod]) -> None:
    """Create pods, and have them run."""
    await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name="ns-0")))
    resource = client.resource(V1Pod)
    waiting = iter(pods)

    async def work() -> None:
        for pod in waiting:
            status, pod.status = pod.status, None
            meta = pod.metadata
            pod.metadata = V1ObjectMeta(name=meta.name, namespace=meta.namespace, labels=meta.labels)
            created = await resource.create(pod)
            created.status = status
            await resource.update_status(created)

    async with anyio.create_task_group() as tasks:
        for _ in range(16):
            tasks.start_soon(work)


async def full(pods: int = 100_000, namespaces: int = 1000) -> None:
    evaluator = PodEvaluator(InformerSource(Pods(pods, namespaces)))  # type: ignore[arg-type]  # as above
    quotas: Any = Quotas()
    recounter = Recounter(quotas, Registry([evaluator]), None)
    every = [make_quota(f"ns-{number}") for number in range(namespaces)]
    for label in ("first", "then"):
        longest = 0.0

        async def feel_the_pulse() -> None:
            nonlocal longest
            while True:
                before = time.perf_counter()
                await anyio.lowlevel.checkpoint()
                longest = max(longest, time.perf_counter() - before)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(feel_the_pulse)
            await anyio.lowlevel.checkpoint()
            began, cpu = time.perf_counter(), time.process_time()
            queue = iter(every)

            async def work(queue: Iterator[V1ResourceQuota] = queue) -> None:
                for quota in queue:
                    await recounter.recount(quota)
                    # As between a queue's get and done.
                    await anyio.lowlevel.checkpoint()

            async with anyio.create_task_group() as workers:
                for _ in range(5):
                    workers.start_soon(work)
            took, used = time.perf_counter() - began, time.process_time() - cpu
            tasks.cancel_scope.cancel()
        print(
            f"full recount of {namespaces:,} quotas over {pods:,} pods, {label}: {took:.2f} s ({used:.2f} s CPU), "
            f"the loop held for {longest * 1000:.1f} ms at most"
        )


# --- the webhook


@contextmanager
def process(*command: str, ready: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    """A process, once it has said that it is ready: its id and what it said."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert running.stdout is not None
        line = running.stdout.readline()
        while not ready(line):
            if not line:
                raise SystemExit(f"{' '.join(command[:4])} ended early")
            line = running.stdout.readline()
        yield running.pid, line
    finally:
        running.terminate()
        running.wait()


@contextmanager
def apiserver() -> Iterator[str]:
    """An embedded server in a process of its own: the kubeconfig for it."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        kinformer = str(Path(sys.executable).with_name("kinformer"))
        command = [kinformer, "apiserver", "--port", "0", "--kubeconfig-out", str(kubeconfig)]
        with process(*command, ready=lambda _: kubeconfig.exists()):
            yield str(kubeconfig)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def webhook(requests: int = 6000, connections: int = 64, rate: int = 750, seconds: float = 6.0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = (str(Path(folder) / name) for name in ("tls.key", "tls.crt"))
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
        openssl = ["openssl", "req", "-x509", *curve, "-keyout", key, "-out", certificate, *subject]
        await anyio.run_process(openssl)
        with apiserver() as kubeconfig:
            async with connect(kubeconfig) as client:
                definitions: Any = client.resource(dict, ("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
                await definitions.create(yaml.safe_load(CRD.read_text()))
                quotas: Any = client.resource(dict, ("quota.kinformer.dev", "v1", "groupquotas"), namespaced=False)
                spec = {"namespaceSelector": {}, "hard": {"pods": "1M", "requests.cpu": "1M"}}
                await quotas.create(
                    {
                        "apiVersion": "quota.kinformer.dev/v1",
                        "kind": "GroupQuota",
                        "metadata": {"name": "g"},
                        "spec": spec,
                    }
                )
                flags = ["--kubeconfig", kubeconfig, "--tls-cert-file", certificate, "--tls-private-key-file", key]
                hook = [sys.executable, "-u", "-c", WEBHOOK, *flags, "--host", "127.0.0.1", "--port", "0"]
                with process(*hook, ready=lambda line: line.startswith("serving")) as (pid, said):
                    port = int(said.split("/validate")[0].rpartition(":")[2])
                    await _counted(quotas)
                    tls = ssl.create_default_context(cafile=certificate)
                    await _throughput(port, tls, pid, requests, connections)
                    await _latency(port, tls, pid, rate, seconds, connections)
                    used = (await quotas.get("g"))["status"]["used"]["pods"]
                    print(f"charged in the end: {used} pods")


async def _counted(quotas: Any) -> None:
    """Return once the quota is in force."""
    async with quotas.watch() as events:
        async for batch in events:
            if any(event.object.get("status", {}).get("used") for event in batch):
                return


async def _throughput(port: int, tls: ssl.SSLContext, pid: int, requests: int, connections: int) -> None:
    numbers = iter(range(requests))

    async def work() -> None:
        ask = await _connection(port, tls)
        for number in numbers:
            await ask(number)

    began, cpu = time.perf_counter(), cpu_seconds(pid)
    await asyncio.gather(*(work() for _ in range(connections)))
    took, used = time.perf_counter() - began, cpu_seconds(pid) - cpu
    print(
        f"webhook, {connections} connections: {requests / took:,.0f} requests/s; "
        f"{requests / used:,.0f} a CPU-second of the webhook"
    )


async def _latency(port: int, tls: ssl.SSLContext, pid: int, rate: int, seconds: float, connections: int) -> None:
    """Requests at a steady rate, however long the answers take."""
    times: list[float] = []
    free: asyncio.Queue[Any] = asyncio.Queue()
    for _ in range(connections):
        free.put_nowait(await _connection(port, tls))

    async def one(number: int, due: float) -> None:
        ask = await free.get()
        await ask(number)
        times.append(time.perf_counter() - due)
        free.put_nowait(ask)

    began, cpu = time.perf_counter(), cpu_seconds(pid)
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(rate * seconds)):
            due = began + number / rate
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            tasks.create_task(one(1_000_000 + number, due))
    times.sort()
    p50, p99 = (times[int(len(times) * share)] * 1000 for share in (0.5, 0.99))
    load = (cpu_seconds(pid) - cpu) / (time.perf_counter() - began)
    print(f"webhook at {rate} requests/s: p50 {p50:.1f} ms, p99 {p99:.1f} ms, {load:.0%} of a core")


async def _connection(port: int, tls: ssl.SSLContext) -> Callable[[int], Awaitable[None]]:
    reader, writer = await asyncio.open_connection("localhost", port, ssl=tls)

    async def ask(number: int) -> None:
        body = json.dumps(_review(number)).encode()
        head = (
            f"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        )
        writer.write(head.encode() + b"\r\n" + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        response = await reader.readexactly(int(length.partition(b":")[2]))
        if b'"allowed":true' not in response:
            raise SystemExit(response.decode())

    return ask


def _review(number: int) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]
    metadata = {"name": f"pod-{number}", "namespace": "default", "uid": f"uid-{number}", "labels": {"app": "web"}}
    request = {
        "uid": str(number),
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "default",
        "name": metadata["name"],
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}},
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["recount", "full", "webhook"])
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    gc.disable()
    known: dict[str, Callable[[], Awaitable[None]]] = {"recount": recount, "full": full, "webhook": webhook}
    for name in parser.parse_args().what:
        if name not in known:
            parser.error(f"unknown benchmark {name!r}: want some of {', '.join(known)}")
        anyio.run(known[name])


if __name__ == "__main__":
    main()
