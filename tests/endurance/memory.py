"""All controllers under a flood of events, with lists again and again, restarts of the server, and members killed.

One manager has all controllers that cannot be sharded, and a witness (:mod:`tests.endurance.witness`). It lives to the
end: its memory is to be flat after a time, and in the end it is to have no task, file or connection more than in the
beginning. Three members share the other controllers' keys out. One of them is killed now and then.
"""

from __future__ import annotations

import itertools
import json
import random
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import anyio

from kinformer.bench.servers import at_once
from kinformer.client import Client, ClientError, connect
from kinformer.models import V1ConfigMap, V1Deployment, V1Job, V1Namespace, V1ObjectMeta, V1Service, from_dict
from tests.endurance.member import now
from tests.endurance.outcome import shown
from tests.endurance.running import Kept, apiserver, kill_now_and_then, until
from tests.endurance.witness import EVERY
from tests.ports import free_port

__all__ = ("Outcome", "judge", "run", "table")

SHARDED: Final = ("deployment", "replicaset", "endpointslice", "job")
WITNESS: Final = "tests.endurance.witness:make_witness"
#: What a process may not have more of in the end.
COUNTED: Final = ("tasks", "files", "connections")
#: By how much the memory may differ between the first and the last fifth of the time after the warm-up.
FLAT: Final = 0.05
#: Seconds without a flood, before and after it.
QUIET: Final = 60.0
#: The most seconds to wait for the first and the last that the witness notes.
PATIENCE: Final = 600.0
#: Seconds between two times that all clients have to list, two restarts of the server, and two SIGKILLs of members.
RELIST, RESTART, KILL = 60.0, 300.0, 45.0
#: The number of Deployments of three pods.
APPS: Final = 100


@dataclass(slots=True)
class Outcome:
    """
    What came of it.

    :ivar samples: what the witness noted, in the order of time
    :ivar events: how many events the flood had
    """

    violations: list[str] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    events: int = 0
    seconds: float = 0.0
    restarts: int = 0
    kills: int = 0


def judge(samples: Sequence[dict[str, Any]], began: float, ended: float, warm: float) -> list[str]:
    """
    What is wrong with the process.

    :param samples: what it noted
    :param began: when the flood began
    :param ended: when it ended
    :param warm: seconds after which the memory is to be flat
    """
    wrong = [*samples[-1]["wrong"], *samples[-1].get("different", ("the caches were not compared",))]
    # Watches begin and end all the time. What is left over is there in each sample.
    before = [sample for sample in samples if sample["time"] < began]
    after = [sample for sample in samples if sample["time"] > ended]
    for what in COUNTED:
        was, found = max(sample[what] for sample in before), min(sample[what] for sample in after)
        if found > was:
            wrong.append(f"there were {was} {what} in the beginning and {found} in the end")
    fifth = (ended - began - warm) / 5
    first, last = (
        [sample["mib"] for sample in samples if start < sample["time"] <= start + fifth]
        for start in (began + warm, ended - fifth)
    )
    if not first or not last:
        wrong.append("the memory was not measured")
    elif median(last) > median(first) * (1 + FLAT):
        wrong.append(f"the memory grew from {median(first):.0f} to {median(last):.0f} MiB")
    return wrong


async def run(minutes: float, rate: float, seed: int, warm: float) -> Outcome:
    """
    Play it, and print a line a minute.

    :param minutes: how long the flood takes
    :param rate: events a second
    :param warm: minutes after which memory has to be flat
    """
    folder = Path(tempfile.mkdtemp(prefix="endurance-"))
    print(f"logs and evidence: {folder}", flush=True)
    quiet = folder / "quiet"
    quiet.touch()
    port, outcome = free_port(), Outcome()
    words = ("tests.endurance.flood", str(folder), str(port), str(rate), str(RELIST))
    async with apiserver(folder, *words) as (kubeconfig, server), connect(kubeconfig) as client:
        await _fill(client)

        def manager(*flags: str) -> list[str]:
            common = ["--kubeconfig", str(kubeconfig), "--metrics-bind-address", "", "--kube-api-qps", "0"]
            return [sys.executable, "-m", "kinformer", "manager", *common, *flags]

        others = ",".join(("builtin", *(f"-{name}" for name in SHARDED), WITNESS))
        file = folder / "witness"
        processes = [Kept("all", lambda _: manager("--controllers", others), folder, {"ENDURANCE_WITNESS": str(file)})]
        members = [
            Kept(name, lambda life: manager("--controllers", ",".join(SHARDED), "--shards", "64"), folder)
            for name in ("m1", "m2", "m3")
        ]
        async with anyio.create_task_group() as tasks:
            for process in (*processes, *members):
                tasks.start_soon(process.run)
            if not await until(lambda: len(_samples(file)) * EVERY > QUIET, PATIENCE):
                raise RuntimeError(f"the manager has not started: see {folder}")
            began = now()
            quiet.unlink()
            async with anyio.create_task_group() as disturbances:
                rng = random.Random(seed)
                disturbances.start_soon(kill_now_and_then, members, KILL, rng, outcome)
                disturbances.start_soon(_restart, server, outcome)
                disturbances.start_soon(_change, client, rng)
                disturbances.start_soon(_report, file, outcome, began)
                await anyio.sleep(minutes * 60)
                disturbances.cancel_scope.cancel()
            quiet.touch()
            ended = now()
            await anyio.sleep(QUIET)
            (folder / "compare").touch()
            await until(lambda: "different" in _samples(file)[-1], PATIENCE)
            outcome.samples, outcome.seconds = _samples(file), ended - began
            if len(processes[0].lives) > 1:
                outcome.violations.append(f"the manager ended with {processes[0].lives[0].status}")
            for process in (*processes, *members):
                if status := await process.end():
                    outcome.violations.append(f"{process.name} ended with {status} after SIGTERM")
            await server.end()
            tasks.cancel_scope.cancel()
    outcome.events = sum(map(int, (folder / "flooded").read_text().split()))
    outcome.violations += judge(outcome.samples, began, ended, warm * 60)
    for process in (*processes, *members):
        if "Traceback" in (folder / f"{process.name}.log").read_text(errors="replace"):
            outcome.violations.append(f"{process.name} has logged a traceback")
    return outcome


def _samples(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def _fill(client: Client) -> None:
    """Deployments with Services, and ConfigMaps that nobody looks at but the flood."""

    async def one(number: int) -> None:
        name, labels = f"app-{number}", {"app": f"app-{number}"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
        namespace = f"team-{number % 20}"
        meta = {"name": name, "namespace": namespace}
        await client.resource(V1Deployment).create(from_dict(V1Deployment, {"metadata": meta, "spec": spec}))
        service = {"metadata": meta, "spec": {"selector": labels, "ports": [{"port": 80}]}}
        await client.resource(V1Service).create(from_dict(V1Service, service))
        for copy in range(5):
            of_app = V1ObjectMeta(name=f"{name}-{copy}", namespace=namespace)
            await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=of_app, data={"text": "x" * 500}))

    for number in range(20):
        await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name=f"team-{number}")))
    await at_once(one, range(APPS), 8)


async def _restart(server: Kept, outcome: Outcome) -> None:
    while True:
        await anyio.sleep(RESTART)
        server.send(signal.SIGTERM)
        outcome.restarts += 1


async def _change(client: Client, rng: random.Random) -> None:
    """What users do: they scale, run Jobs, and make namespaces and delete them."""
    for number in itertools.count():
        await anyio.sleep(1)
        app = rng.randrange(APPS)
        namespace = f"team-{app % 20}"
        try:
            scaled = {"spec": {"replicas": rng.randint(1, 5)}}
            await client.resource(V1Deployment).patch(f"app-{app}", scaled, namespace)
            if number % 10 == 0:
                pod = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
                job = {"metadata": {"name": f"job-{number}", "namespace": namespace}}
                spec = {"template": pod, "ttlSecondsAfterFinished": 30, "activeDeadlineSeconds": 20}
                await client.resource(V1Job).create(from_dict(V1Job, {**job, "spec": spec}))
            if number % 20 == 0:
                made = V1ObjectMeta(name=f"short-{number}")
                await client.resource(V1Namespace).create(V1Namespace(metadata=made))
                of_short = V1ObjectMeta(name="a", namespace=made.name)
                await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=of_short))
            if number % 20 == 10:
                await client.resource(V1Namespace).delete(f"short-{number - 10}")
        except ClientError:
            continue  # the server is away


async def _report(file: Path, outcome: Outcome, began: float) -> None:
    while True:
        await anyio.sleep(60)
        last = (_samples(file) or [{}])[-1]
        events = (file.parent / "events").read_text() if (file.parent / "events").exists() else "0"
        print(
            f"{(now() - began) / 60:6.1f} min  {int(events):,} events since the server's start, {outcome.kills} kills, "
            f"{outcome.restarts} restarts; {last.get('mib', 0):.0f} MiB, "
            f"{', '.join(f'{last.get(what)} {what}' for what in COUNTED)}, {len(last.get('wrong', ()))} violations",
            flush=True,
        )


def table(outcome: Outcome) -> str:
    """What came of it, for people."""
    began = outcome.samples[0]["time"]
    lines = [f"{'minute':>8}{'MiB':>8}{'objects':>10}" + "".join(f"{what:>13}" for what in COUNTED)]
    step = max(len(outcome.samples) // 12, 1)
    for sample in (*outcome.samples[:-1:step], outcome.samples[-1]):
        counts = "".join(f"{sample[what]:>13}" for what in COUNTED)
        lines.append(f"{(sample['time'] - began) / 60:>8.1f}{sample['mib']:>8.1f}{sample['objects']:>10,}{counts}")
    rate = f"{outcome.events:,} events, {outcome.events / outcome.seconds:,.0f}/s"
    lines += [
        "",
        f"{rate}; {outcome.restarts} restarts of the server, {outcome.kills} members killed",
        *shown(outcome.violations),
    ]
    return "\n".join(lines)
