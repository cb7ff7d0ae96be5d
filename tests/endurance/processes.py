"""Three members of a group of shards and two candidates of an election, as processes, with one trouble after the other.

A user changes all the time what the processes have to answer. The judge says what must not be.
"""

from __future__ import annotations

import itertools
import random
import signal
import sys
import tempfile
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Final

import anyio

from kinformer.bench.servers import at_once
from kinformer.client import AlreadyExists, Client, NotFound, connect
from kinformer.manager.election import DEFAULT_LEASE
from kinformer.models import V1ConfigMap, V1Lease, V1Namespace, V1ObjectMeta
from kinformer.sharding import DEFAULT_GROUP
from kinformer.simulation.oracles import Violation
from tests.endurance.judge import LEASES, Late, Writes, judge_syncs
from tests.endurance.member import LEDGER, now
from tests.endurance.outcome import PROMISE, RETRY, Outcome, Settings
from tests.endurance.proxy import proxy
from tests.endurance.running import Kept, address_of, apiserver, behind, starved, until
from tests.endurance.troubles import play, troubles

__all__ = ("run",)

SHARDS: Final = ("m1", "m2", "m3")
CANDIDATES: Final = ("c1", "c2")
#: Seconds from the making of a manager until it is one of its group.
SETTLED: Final = 6.0
#: All is calm when no key has waited for more seconds than this.
QUICK: Final = 3.0


async def run(settings: Settings) -> Outcome:
    """Play it, and print a line a minute."""
    async with AsyncExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="endurance-"))
        print(f"logs and evidence: {folder}", flush=True)
        kubeconfig = settings.kubeconfig or (await stack.enter_async_context(apiserver(folder)))[0]
        client = await stack.enter_async_context(connect(kubeconfig))
        return await _Run(settings, client, kubeconfig, folder).play()


class _Run:
    def __init__(self, settings: Settings, client: Client, kubeconfig: Path, folder: Path) -> None:
        self._settings, self._client, self._kubeconfig, self._folder = settings, client, kubeconfig, folder
        self._rng = random.Random(settings.seed)
        self._late, self._writes = Late(PROMISE), Writes()
        self._outcome = Outcome()
        self._processes: dict[str, Kept] = {}
        self._keys: dict[str, int] = {}
        self._during = "the start"
        self._began = now()
        self._asks = True

    async def play(self) -> Outcome:
        await self._make_objects()
        async with anyio.create_task_group() as tasks, AsyncExitStack() as stack:
            tasks.start_soon(self._follow, V1ConfigMap, "configmaps", "")
            tasks.start_soon(self._follow, V1Lease, LEASES, "kube-system")
            for name in (*SHARDS, *CANDIDATES):
                self._processes[name] = kept = await self._kept(name, stack)
                tasks.start_soon(kept.run)
            tasks.start_soon(self._user)
            tasks.start_soon(self._report)
            # The first table of a group is waited with for the duration of a Lease.
            await self._calm()
            self._late.violations.clear()
            self._late.take_longest()
            await self._play_all()
            await self._finish()
            tasks.cancel_scope.cancel()
        return self._judged()

    async def _make_objects(self) -> None:
        """Four of five namespaces are for the group of shards, and one is for the leader."""
        count = self._settings.keys
        spaces = [f"{'leader' if number % 5 == 0 else 'shards'}-{number}" for number in range(max(count // 20, 10))]
        self._keys = {f"{spaces[number % len(spaces)]}/key-{number}": 0 for number in range(count)}
        namespaces, maps = self._client.resource(V1Namespace), self._client.resource(V1ConfigMap)

        async def make_namespace(name: str) -> None:
            with suppress(AlreadyExists):  # of an earlier run on this server
                await namespaces.create(V1Namespace(metadata=V1ObjectMeta(name=name)))

        async def make(key: str) -> None:
            namespace, _, name = key.partition("/")
            with suppress(NotFound):
                await maps.delete(name, namespace)
            await maps.create(V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace=namespace)))

        await at_once(make_namespace, spaces, 8)
        await at_once(make, self._keys, 8)

    async def _kept(self, name: str, stack: AsyncExitStack) -> Kept:
        is_shard = name in SHARDS
        between = await stack.enter_async_context(proxy(address_of(self._kubeconfig)))
        kubeconfig = behind(self._kubeconfig, between, self._folder / f"{name}.kubeconfig")
        evidence = self._folder / ("shards" if is_shard else "leader")
        evidence.mkdir(exist_ok=True)
        flags = ["--kubeconfig", str(kubeconfig), "--controllers", LEDGER, "--metrics-bind-address", ""]
        flags += ["--shard-fenced-resources" if is_shard else "--leader-elect-fenced-resources", "configmaps"]
        flags += ["--shards", "64"] if is_shard else ["--leader-elect"]

        def command(life: str) -> list[str]:
            wrong = str(self._rng.choice((-86_400, -3_600, -30, 30, 3_600, 86_400)))
            member = [sys.executable, "-m", "tests.endurance.member", str(evidence / life), wrong]
            return [*member, "manager", *flags, *(["--shard-member-identity", life] if is_shard else [])]

        return Kept(name, command, self._folder, {"ENDURANCE_PREFIX": f"{evidence.name}-"}, between, evidence)

    async def _follow(self, model: type[Any], resource: str, namespace: str) -> None:
        """Show the judge each version of each object."""
        async for change in self._client.resource(dict, model).follow(namespace):
            obj = change.object
            if change.type != "DELETED":
                self._writes.saw(resource, obj)
            key = f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
            if key in self._keys:
                self._late.answered(key, int((obj.get("data") or {}).get("seen", 0)))

    async def _user(self) -> None:
        """Change one object after the other, for ever."""
        maps = self._client.resource(V1ConfigMap)
        keys = list(self._keys)
        self._rng.shuffle(keys)
        due = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            while self._asks:
                for key in keys:
                    self._keys[key] += 1
                    tasks.start_soon(self._ask, maps, key, self._keys[key])
                    self._outcome.changes += 1
                    due = max(due + 1 / self._settings.rate, anyio.current_time() - 1)
                    await anyio.sleep_until(due)
                    if not self._asks:
                        break

    async def _ask(self, maps: Any, key: str, todo: int) -> None:
        namespace, _, name = key.partition("/")
        self._late.asks(key, todo)
        await maps.patch(name, {"data": {"todo": str(todo)}}, namespace)

    async def _calm(self) -> None:
        """Wait until all processes are up and every key is synced within a short time."""
        for process in self._processes.values():
            if not await process.is_up(SETTLED):
                self._outcome.violations.append(Violation("up", f"{process.name} has not started after {self._during}"))
        with anyio.move_on_after(4 * PROMISE):
            while self._late.oldest > QUICK:  # the watches tell the judge
                self._late.check(self._during)
                await anyio.sleep(0.1)
        self._late.check(self._during)

    async def _play_all(self) -> None:
        end = now() + self._settings.minutes * 60
        for trouble in troubles(self._settings.seed, SHARDS, CANDIDATES):
            if now() > end:
                return
            await anyio.sleep(self._rng.uniform(1, 5))
            self._during = str(trouble)
            await play(trouble, [self._processes[name] for name in trouble.names], SETTLED)
            await self._calm()
            self._outcome.longest[trouble.row].append(self._late.take_longest())

    async def _finish(self) -> None:
        """All is well when nothing goes wrong any more: each key is synced, and each process ends in order."""
        self._during, self._asks = "the end", False
        await until(lambda: not self._late.oldest, 2 * PROMISE)
        self._late.check(self._during)
        await anyio.sleep(2 * RETRY)  # the judge waits for Leases that are newer than the last write
        wrong = []
        for name, process in self._processes.items():
            if status := await process.end():
                wrong.append(f"{name} ended with {status} after SIGTERM")
        leases = (await self._client.resource(V1Lease).list("kube-system")).items
        group = [found.metadata.name for found in leases if found.metadata.name.startswith(f"{DEFAULT_GROUP}-")]
        wrong += [f"the Lease {name} is left" for name in group]
        wrong += [
            f"the Lease {found.metadata.name} is still held by {found.spec.holder_identity}"
            for found in leases
            if found.metadata.name == DEFAULT_LEASE and found.spec.holder_identity
        ]
        self._outcome.violations += [Violation("end", text) for text in wrong]

    def _judged(self) -> Outcome:
        outcome, lives = self._outcome, [life for kept in self._processes.values() for life in kept.lives]
        outcome.writes, outcome.starved = self._writes.count, starved()
        outcome.statuses.update(_ending_of(life.status) for life in lives)
        died = {life.name: life.died for life in lives}
        groups = {
            group: {path.name: path.read_text().splitlines() for path in sorted((self._folder / group).iterdir())}
            for group in ("shards", "leader")
        }
        outcome.syncs = sum(line.startswith("begin") for of in groups.values() for one in of.values() for line in one)
        outcome.violations += [*self._writes.violations, *self._late.violations, *judge_syncs(groups, died)]
        for name in self._processes:
            log = (self._folder / f"{name}.log").read_text(errors="replace")
            if "Traceback" in log:
                outcome.violations.append(Violation("log", f"{name} has logged a traceback"))
        return outcome

    async def _report(self) -> None:
        for second in itertools.count(1):
            await anyio.sleep(1)
            self._late.check(self._during)
            if second % 60:
                continue
            late, writes = self._late, self._writes
            lives = sum(len(kept.lives) for kept in self._processes.values())
            longest = max((max(times) for times in self._outcome.longest.values()), default=0.0)
            wrong = [*writes.violations, *late.violations]
            print(
                f"{(now() - self._began) / 60:6.1f} min  {self._outcome.changes:,} changes, {writes.count:,} writes, "
                f"{lives} lives, longest unsynced {longest:.1f} s, now {late.oldest:.1f} s, {len(wrong)} violations; "
                f"{self._during}",
                flush=True,
            )


def _ending_of(status: int | None) -> str:
    return signal.Signals(-status).name if status is not None and status < 0 else f"status {status}"
