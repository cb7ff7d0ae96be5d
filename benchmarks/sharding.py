"""The effect of sharding the keys.

The embedded API server has its own process, and so has each member: ``kinformer manager --shards 64`` with the
ReplicaSet controller. The figures, for different numbers of members with the same objects:

- the memory of a member when its cache is full, and how much more this is than the memory of a member without objects;
- the CPU time of a member while every ReplicaSet is scaled up by one;
- how many ranges moved when the last member joined, and the least number possible;
- the seconds from a member's start, SIGTERM or SIGKILL until the ranges have the owners that they should have.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from kinformer.bench.measure import Stopwatch, cpu_seconds, current_kib
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import api_server
from kinformer.client import Client, connect
from kinformer.models import V1Lease, V1Namespace, V1ObjectMeta, V1Pod, V1ReplicaSet, from_dict
from kinformer.sharding import Table, assignment

GROUP, LEASES = "kinformer-manager-shards", "kube-system"


class Member:
    """A member of the group, in its own process."""

    def __init__(self, kubeconfig: Path, number: int, by: str, log: Path) -> None:
        command = [sys.executable, "-m", "kinformer", "manager", "--kubeconfig", str(kubeconfig)]
        self.identity = f"m{number}"
        flags = ["--controllers", "replicaset", "--shards", "64", "--shard-by", by]
        flags += ["--shard-member-identity", self.identity]
        serving = ["--metrics-bind-address", ""]
        with log.open("w") as out:
            self.process = subprocess.Popen([*command, *flags, *serving], stdout=out, stderr=subprocess.STDOUT)

    @property
    def cpu(self) -> float:
        """The CPU time of its process, in seconds."""
        return cpu_seconds(self.process.pid)

    @property
    def memory(self) -> float:
        """The resident memory of its process, in MiB."""
        return current_kib(self.process.pid) / 1024

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait(30)


class Cluster:
    """
    The objects of the server.

    :param namespaces: the number of namespaces
    :param sets: the number of ReplicaSets in each namespace
    :param replicas: the replicas of each ReplicaSet
    """

    def __init__(self, client: Client, namespaces: int, sets: int, replicas: int) -> None:
        self.client = client
        self.names = [(f"team-{namespace:03d}", f"web-{it}") for namespace in range(namespaces) for it in range(sets)]
        self.replicas = replicas

    async def fill(self) -> None:
        """Make the namespaces and ReplicaSets."""
        for namespace in sorted({namespace for namespace, _ in self.names}):
            await self.client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name=namespace)))
        for namespace, name in self.names:
            await self.client.resource(V1ReplicaSet).create(_replica_set(namespace, name, self.replicas))

    async def scale_up(self) -> None:
        """Scale each ReplicaSet up by one, and wait until the Pods exist."""
        self.replicas += 1
        for namespace, name in self.names:
            await self.client.resource(V1ReplicaSet).patch(name, {"spec": {"replicas": self.replicas}}, namespace)
        await self.until_all_pods()

    async def until_all_pods(self) -> None:
        pods, wanted = self.client.resource(dict, V1Pod), self.replicas * len(self.names)
        # A watch, or a list of all of them, is more work for the server.
        while 1 + ((await pods.list(limit=1)).remaining_item_count or 0) < wanted:  # noqa: ASYNC110
            await anyio.sleep(0.5)

    async def owners(self) -> tuple[str, ...]:
        """The owner of each range; empty if there is no Lease with them yet."""
        leases = await self.client.resource(dict, V1Lease).list(LEASES)
        for lease in leases.items:
            if lease["metadata"]["name"] == GROUP:
                return Table.read(lease["metadata"]["annotations"]).owners
        return ()

    async def until_owned_by(self, members: list[Member]) -> tuple[float, tuple[str, ...]]:
        """
        Wait until each member owns the ranges that it should.

        :return: the seconds that this took, and the owner of each range
        """
        wanted = {member.identity for member in members}
        began = time.perf_counter()
        while True:
            owners = await self.owners()
            there = set(owners)
            if {identity_of(owner) for owner in there} == wanted and owners == assignment(len(owners), there):
                return time.perf_counter() - began, owners
            await anyio.sleep(0.02)


def identity_of(owner: str) -> str:
    """The identity that a member got by its flag, from the name of an owner."""
    return owner.removeprefix(f"{GROUP}-").partition("-")[0]


def _replica_set(namespace: str, name: str, replicas: int) -> V1ReplicaSet:
    labels = {"app": name}
    container = {"name": "c", "image": "registry.example.com/team/service:1.2.3", "env": _ENV}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return from_dict(V1ReplicaSet, {"metadata": {"name": name, "namespace": namespace}, "spec": spec})


#: Variables that make a Pod about as large as in a cluster.
_ENV = [{"name": f"SETTING_{number}", "value": "x" * 40} for number in range(40)]


async def settle(members: list[Member]) -> None:
    """Wait until every member uses only the little CPU time that its Lease needs, for three seconds."""
    quiet = 0
    while quiet < 3:
        before = [member.cpu for member in members]
        await anyio.sleep(1)
        busy = any(member.cpu - was > 0.1 for member, was in zip(members, before, strict=True))
        quiet = 0 if busy else quiet + 1


@contextmanager
def ended(members: list[Member]) -> Iterator[None]:
    try:
        yield
    finally:
        for member in members:
            member.process.kill()
            member.process.wait()


async def measure(members: int, namespaces: int, sets: int, replicas: int, by: str) -> Figures:
    """
    Measure a group.

    :param members: the number of its members
    :param namespaces: the number of namespaces
    :param sets: the number of ReplicaSets in each namespace
    :param replicas: the replicas of each ReplicaSet
    :param by: what decides the shard of an object: ``namespace`` or ``owner``
    """
    group: list[Member] = []
    with api_server() as kubeconfig, TemporaryDirectory() as folder, ended(group):
        async with connect(kubeconfig=kubeconfig) as client:
            cluster = Cluster(client, namespaces, sets, replicas)

            def start(number: int) -> Member:
                return Member(kubeconfig, number, by, Path(folder) / f"{number}.log")

            group.append(start(0))
            await cluster.until_owned_by(group)
            await settle(group)
            empty = group[0].memory
            await cluster.fill()
            await cluster.until_all_pods()
            # New processes: a process does not give all its memory back to the system.
            group.pop().stop()
            group += [start(number) for number in range(1, members)]
            if group:
                await cluster.until_owned_by(group)
                await settle(group)
            before = await cluster.owners()
            group.append(start(members))
            joined, after = await cluster.until_owned_by(group)
            await settle(group)
            memory = max(member.memory for member in group)
            cpu = [member.cpu for member in group]
            await cluster.scale_up()
            await settle(group)
            cpu = [member.cpu - was for member, was in zip(group, cpu, strict=True)]
            figures: Figures = {
                "MiB, at most": round(memory, 1),
                "of objects": round(memory - empty, 1),
                "CPU seconds, at most": round(max(cpu), 2),
                "ranges, at most": max(Counter(after).values()),
                "seconds to join": round(joined, 2),
            }
            if members > 1:
                figures["moved"] = sum(was != now for was, now in zip(before, after, strict=True))
                figures["least"] = sum(identity_of(owner) == group[-1].identity for owner in after)
            for how in (signal.SIGTERM, signal.SIGKILL):
                if len(group) > 1:
                    watch = Stopwatch()
                    group.pop().stop(how)
                    await cluster.until_owned_by(group)
                    figures[f"seconds after {how.name}"] = round(watch.wall, 2)
    return figures


CASES = {
    "sharding": Case(
        "Members that share the ReplicaSets of a cluster",
        measure,
        each("members", (1, 2, 3, 4), namespaces=200, sets=2, replicas=10, by="namespace"),
        each("members", (1, 2), namespaces=1, sets=5, replicas=2, by="owner"),
        ("of objects", "CPU seconds, at most"),
        lower_is_better=True,
        is_repeated=False,
    )
}
