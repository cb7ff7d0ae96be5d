"""The quota webhook in three replicas, one of which is killed every five seconds.

Two quotas are asked for. One has room for every request, so each refusal is wrong. The other one is nearly always full:
a user deletes pods whenever it is. A watch says how many pods there were at each version: never more than the limit.

A client does what kube-apiserver does (:mod:`benchmarks.quota_webhook`), and a Service: if a replica is gone, it asks
the next one. The time of an answer counts from when the request was due, with everything that was tried in between.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import yaml

from benchmarks.quota_webhook import CRD, new_pod, serve, tls_flags
from kinformer.bench.measure import cpu_seconds
from kinformer.bench.servers import remote
from kinformer.client import connect
from kinformer.meta import Quantity
from kinformer.models import V1Namespace, V1ObjectMeta, V1Pod
from tests.endurance.member import now
from tests.endurance.outcome import shown
from tests.endurance.running import Kept, kill_now_and_then, starved
from tests.endurance.service import History, Replicas
from tests.ports import free_port

__all__ = ("Outcome", "run", "table")

WIDE, TIGHT = "wide", "tight"
#: What the quotas of the two namespaces allow. The first one is never used up.
HARD: Final = {WIDE: 100_000_000, TIGHT: 200}
REPLICAS: Final = 3
COMMAND: Final = (sys.executable, "-m", "kinformer", "quota-webhook")
#: The most pods of the first namespace that are kept.
KEPT: Final = 1_000
#: Seconds for which a charge is reserved: longer than anything takes between admission and storage.
RESERVATION: Final = 20
#: Seconds until the quota says what is stored, when nobody is killed any more: a Lease, a reservation, and a recount.
SETTLED: Final = 60.0


@dataclass(slots=True)
class Outcome:
    """
    What came of it: what was wrong, the seconds until each answer, and how many were refused with which code.

    :ivar cpu: CPU seconds, by whose they were
    :ivar starved: the share of its time for which the client waited for a processor
    """

    violations: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    again: int = 0
    kills: int = 0
    most: int = 0
    seconds: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    starved: float = 0.0

    def judge(self) -> None:
        """Look at the times."""
        if self.percentile(0.99) > 0.25:
            self.violations.append(f"99 % of the answers came within {self.percentile(0.99) * 1000:.0f} ms: want 250")
        if self.percentile(1) > 5:
            self.violations.append(f"the last answer came after {self.percentile(1):.1f} s: want 5")

    def percentile(self, share: float) -> float:
        times = sorted(self.times) or [float("inf")]
        return times[min(int(len(times) * share), len(times) - 1)]


async def run(minutes: float, rate: float, every: float, seed: int) -> Outcome:
    """
    Play it, and print a line a minute.

    :param minutes: how long requests are sent
    :param rate: requests a second
    :param every: seconds between two SIGKILLs
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flags, tls = tls_flags(folder)
        with remote(serve) as server:
            flags += ["--kubeconfig", str(server.kubeconfig), "--leader-elect", "--reservation", f"{RESERVATION}s"]
            ports = [free_port() for _ in range(REPLICAS)]

            def command(port: int) -> Callable[[str], list[str]]:
                return lambda _: [*COMMAND, *flags, "--port", str(port)]

            replicas = [Kept(f"replica{port}", command(port), folder) for port in ports]
            async with connect(server.kubeconfig) as client:
                before = os.times()
                outcome = await _Run(client, replicas, Replicas(ports, tls)).play(
                    minutes, rate, every, random.Random(seed)
                )
                after = os.times()
                outcome.cpu["API server"] = cpu_seconds(server.process.pid)
    outcome.cpu["client"] = after.user + after.system - before.user - before.system
    # All replicas have ended, and have been waited for; the server is still running when this is read.
    outcome.cpu["replicas"] = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    outcome.starved = starved()
    return outcome


class _Run:
    def __init__(self, client: Any, replicas: list[Kept], service: Replicas) -> None:
        self._replicas, self._service = replicas, service
        self._client, self._pods = client, client.resource(dict, V1Pod)
        self._quotas = client.resource(dict, ("quota.kinformer.dev", "v1", "groupquotas"), namespaced=False)
        self._outcome, self._history = Outcome(), History()
        self._stored: dict[str, deque[str]] = {WIDE: deque(), TIGHT: deque()}
        self._numbers = 0

    async def play(self, minutes: float, rate: float, every: float, rng: random.Random) -> Outcome:
        outcome = self._outcome
        await self._make_objects()
        async with anyio.create_task_group() as tasks:
            for replica in self._replicas:
                tasks.start_soon(replica.run)
            tasks.start_soon(self._service.probe)
            tasks.start_soon(self._follow)
            await self._until_used_is_stored("the start")
            async with anyio.create_task_group() as kills:
                kills.start_soon(kill_now_and_then, self._replicas, every, rng, outcome)
                kills.start_soon(self._report)
                began = now()
                async with anyio.create_task_group() as requests:
                    while (due := began + self._numbers / rate) < began + minutes * 60:
                        await anyio.sleep(max(due - now(), 0))
                        requests.start_soon(self._request, self._next(), due)
                outcome.seconds = now() - began
                kills.cancel_scope.cancel()
            await self._until_used_is_stored("the end")
            await self._fill()
            tasks.cancel_scope.cancel()
        outcome.again, outcome.most = self._service.again, self._history.most
        if outcome.most > HARD[TIGHT]:
            outcome.violations.append(f"there were {outcome.most} pods, and the limit is {HARD[TIGHT]}")
        outcome.judge()
        return outcome

    async def _make_objects(self) -> None:
        definitions = self._client.resource(dict, ("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
        await definitions.create(yaml.safe_load(CRD.read_text()))
        for name, hard in HARD.items():
            labels = {"team": name}
            await self._client.resource(V1Namespace).create(
                V1Namespace(metadata=V1ObjectMeta(name=name, labels=labels))
            )
            spec = {"namespaceSelector": {"matchLabels": labels}, "hard": {"pods": str(hard)}}
            quota = {"apiVersion": "quota.kinformer.dev/v1", "kind": "GroupQuota", "metadata": {"name": name}}
            await self._quotas.create({**quota, "spec": spec})

    def _next(self) -> dict[str, Any]:
        """Every tenth pod is for the namespace that is full."""
        self._numbers += 1
        return new_pod(self._numbers, TIGHT if self._numbers % 10 == 0 else WIDE)

    async def _request(self, pod: dict[str, Any], due: float) -> bool:
        """Ask for a pod, and store it; returns whether it was admitted."""
        namespace = pod["metadata"]["namespace"]
        answer = await self._service.ask(pod)
        self._outcome.times.append(now() - due)
        stored = self._stored[namespace]
        if answer["allowed"]:
            await self._pods.create(pod)
            stored.append(pod["metadata"]["name"])
        else:
            status = answer["status"]
            self._outcome.refused[f"{namespace}: {status['code']}"] += 1
            if namespace == WIDE or status["code"] != 403:
                self._outcome.violations.append(f"refused in {namespace}: {status['code']} {status['message']}")
        if len(stored) > KEPT or (namespace == TIGHT and not answer["allowed"] and len(stored) > HARD[TIGHT] // 2):
            await self._pods.delete(stored.popleft(), namespace)
        return bool(answer["allowed"])

    async def _follow(self) -> None:
        async for change in self._pods.follow(TIGHT):
            self._history.saw(change.type, change.object["metadata"]["uid"])

    async def _fill(self) -> None:
        """When all is settled, exactly as many are admitted as there is room."""
        room = HARD[TIGHT] - len(self._history)
        times = len(self._outcome.times)
        admitted = 0
        for _ in range(room + 5):
            self._numbers += 1
            admitted += await self._request(new_pod(self._numbers, TIGHT), now())
            if admitted == room:
                break
        del self._outcome.times[times:]
        if admitted != room:
            self._outcome.violations.append(f"there was room for {room}, and {admitted} were admitted")

    async def _until_used_is_stored(self, when: str) -> None:
        """Wait until each quota says what is stored."""
        found: list[str] = []
        with anyio.move_on_after(SETTLED):
            while True:
                found = []
                for name in HARD:
                    status = (await self._quotas.get(name)).get("status") or {}
                    used = Quantity.parse((status.get("used") or {}).get("pods", "-1"))  # -1: not counted yet
                    there = len((await self._pods.list(name)).items)
                    if used != Quantity.parse(str(there)) or status.get("reservations"):
                        reserved = len(status.get("reservations") or ())
                        found.append(
                            f"{when}: the quota {name} has {used} used and {reserved} reserved; {there} stored"
                        )
                if not found:
                    return
                await anyio.sleep(0.5)
        self._outcome.violations += found

    async def _report(self) -> None:
        while True:
            await anyio.sleep(60)
            out = self._outcome
            print(
                f"{len(out.times):,} answers, p99 {out.percentile(0.99) * 1000:.0f} ms, "
                f"longest {out.percentile(1):.1f} s, {out.kills} kills, {dict(out.refused)}, at most "
                f"{self._history.most} pods, "
                f"{len(out.violations)} violations",
                flush=True,
            )


def table(outcome: Outcome) -> str:
    """What came of it, for people."""
    p50, p99, last = (outcome.percentile(share) for share in (0.5, 0.99, 1))
    refused = ", ".join(f"{count} with {code}" for code, count in sorted(outcome.refused.items())) or "none"
    cpu = ", ".join(f"{whose} {seconds / len(outcome.times) * 1000:.1f}" for whose, seconds in outcome.cpu.items())
    lines = [
        f"{len(outcome.times):,} answers, {len(outcome.times) / outcome.seconds:.0f}/s; {outcome.kills} kills",
        f"p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, longest {last:.2f} s; {outcome.again} times sent again",
        f"refused: {refused}; at most {outcome.most} pods where {HARD[TIGHT]} were allowed",
        f"ms of CPU for each answer, with all starts: {cpu}",
        f"the client waited for a processor {outcome.starved:.0%} of its time",
        *shown(outcome.violations),
    ]
    return "\n".join(lines)
