"""A world of replicas of the quota webhook, behind one service that the API server asks before it stores a pod.

Each replica is the real webhook with its server, in a simulated process of its own. A second webhook takes its time
with each pod, and now and then refuses one that the quota was charged for already: that is what other webhooks, and API
servers that die, do between admission and storage.

At no time is more stored than the limit allows, nobody is refused but by a quota that is used up, and in the end usage
is what is stored, and all that fits is let in.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from aiohttp import web

from kinformer.client import ApiError, ClientError, DeleteOptions, NotFound
from kinformer.leaderelection import ElectionOptions
from kinformer.manager import LeaderElection
from kinformer.meta import GroupResource
from kinformer.models import V1Pod
from kinformer.simulation import Checks, Faults, World, WorldOptions
from kinformer.simulation.process import Process, Program
from kinformer.tasks import plain_task_group
from kinformer_controllers.groupquota.server import WebhookServer
from kinformer_controllers.groupquota.webhook import QuotaWebhook
from tests.controllers.groupquota.setting import CRD, group_quota

__all__ = ("CHECKS", "FAULTS", "OPTIONS", "Replicas", "crowd", "leader_is_behind", "room_for_all", "rush")

#: Seconds that a charge is reserved, longer than anything takes between admission and storage.
RESERVATION: Final = 8.0
#: What is admitted is stored within this time, or never.
STORED_WITHIN: Final = 2.0
NAMESPACES: Final = ("shop-1", "shop-2")
LEASE: Final = ElectionOptions(4, 3, 1)
PORT: Final = 9443

OPTIONS = WorldOptions(loops=())
#: Which pods are there in the end is a matter of luck; and who leads no more goes on charging quotas.
CHECKS = Checks(without=("final-state", "churn", "leader"))
FAULTS = Faults.only(
    crash=0.03,
    pause=0.02,
    partition=0.02,
    split=0.01,
    conflict=0.02,
    cut=0.02,
    refuse=0.01,
    delay=0.02,
    hide=0.02,
    silent=0.005,
    most=8,
    swarm=True,
)

_CONFIGURATION: Final = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "webhooks"},
    "webhooks": [
        {
            "name": f"{name}.example.com",
            "clientConfig": {"service": {"namespace": "default", "name": name, "path": "/validate"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
            "sideEffects": "NoneOnDryRun",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "timeoutSeconds": 10,
        }
        for name in ("quota", "slow")
    ],
}


class Replicas:
    """
    The replicas, and what is asked of them.

    :param hard: so many pods are allowed
    :param gentle: nothing is refused, or late, between admission and storage
    :ivar answers: how often there was which answer to a request for a pod; 0 if there was none
    """

    def __init__(self, world: World, hard: int, *, gentle: bool = False) -> None:
        self.world = world
        self.hard = hard
        self.gentle = gentle
        self.is_over = False
        self.webhooks: dict[str, QuotaWebhook] = {}
        self.answers: Counter[int] = Counter()
        #: Since when how much has been used, as the quota said.
        self._used: list[tuple[float, int]] = [(0.0, 0)]
        self._pods: Any = world.client.resource(V1Pod)
        self._names = (f"p{number}" for number in itertools.count())
        world.assert_always(self.check)

    def check(self, state: Any) -> None:
        """No more is stored than the limit allows."""
        quota = state.get("groupquotas.quota.kinformer.dev/g") or {}
        used = int(((quota.get("status") or {}).get("used") or {}).get("pods", 0))
        if used != self._used[-1][1]:
            self._used.append((self.world.loop.now, used))
        stored = self.stored
        assert stored <= self.hard, f"{stored} pods are stored, of {self.hard} allowed"

    @property
    def stored(self) -> int:
        return sum(1 for _ in self.world.server.storage.log(GroupResource("", "pods")).select(""))

    def webhook_of(self, process: Process) -> QuotaWebhook:
        """What runs in the present life of a process."""
        assert process.life is not None
        return self.webhooks[process.life.name]

    @property
    def status(self) -> dict[str, Any]:
        """The quota's status."""
        quota: Any = self.world.state.get("groupquotas.quota.kinformer.dev/g")
        found: dict[str, Any] = (quota or {}).get("status") or {}
        return found

    async def open(self, count: int = 3) -> list[Process]:
        """Start so many, and wait until they enforce the quota."""
        world = self.world
        await world.apply(CRD)
        for name in NAMESPACES:
            metadata = {"name": name, "labels": {"team": "shop"}}
            await world.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        processes = [world.program(self._serve, f"webhook-{number}") for number in range(1, count + 1)]
        world.service("quota", "default", processes, PORT)
        world.service("slow", "default", [world.program(self._be_slow, "slow", is_disturbed=False)], PORT)
        await world.apply(group_quota({"pods": str(self.hard)}))
        while "used" not in self.status:
            await world.sleep(0.5)
        await world.apply(_CONFIGURATION)
        return processes

    async def _serve(self, program: Program) -> None:
        webhook = QuotaWebhook(
            program.client,
            program.informers,
            reservation=RESERVATION,
            period=0.0,
            election=LeaderElection(name="quota", identity=program.name, options=LEASE),
            clock=program.clock,
        )
        self.webhooks[program.name] = webhook
        server = WebhookServer(webhook, None, program.host, PORT, clock=program.clock)
        async with plain_task_group() as tasks:
            tasks.start_soon(webhook.run)
            tasks.start_soon(server.run)

    async def _be_slow(self, program: Program) -> None:
        async def review(request: web.Request) -> web.Response:
            asked = (await request.json())["request"]
            allowed = True
            if not (self.gentle or self.is_over):
                await anyio.sleep(random.random() * (STORED_WITHIN if random.random() < 0.1 else 0.05))
                allowed = random.random() > 0.15
            response = {"uid": asked["uid"], "allowed": allowed, "status": {"code": 418}}
            answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
            return web.json_response(answer)

        application = web.Application()
        application.router.add_post("/validate", review)
        runner = web.AppRunner(application, access_log=None, handle_signals=False)
        try:
            await runner.setup()
            await web.TCPSite(runner, program.host, PORT).start()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await runner.cleanup()

    # -- what is asked -------------------------------------------------------------------------------------------------

    async def create(self, patience: float = 60.0) -> int:
        """
        Ask for a pod: the status of the answer, 0 if there is none in so many seconds.

        :raises AssertionError: if it is refused by a quota that was not used up
        """
        began, code = self.world.loop.now, 0
        body = {"metadata": {"name": next(self._names)}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        with anyio.move_on_after(patience):
            try:
                await self._pods.create(body, random.choice(NAMESPACES))
                code = 201
            except ApiError as error:
                code = error.code
            except ClientError:
                code = 0
        self.answers[code] += 1
        if code == 403 and self._most_used_since(began) < self.hard:
            # The charge that used up the quota may still be on its way to the server.
            await self.world.sleep(0.1)
            most = self._most_used_since(began)
            assert most >= self.hard, f"a pod was refused while {most} of {self.hard} were used"
        return code

    def _most_used_since(self, began: float) -> int:
        ends = [*(time for time, _ in self._used[1:]), self.world.loop.now]
        return max(used for (_, used), end in zip(self._used, ends, strict=True) if end >= began)

    async def requests(self, count: int, patience: float = 60.0) -> None:
        """Ask again and again."""
        for _ in range(count):
            await self.world.sleep(random.random() * 0.4)
            goes_away = not self.gentle and random.random() < 0.1
            await self.create(random.random() * 0.05 if goes_away else patience)

    @asynccontextmanager
    async def trouble(self) -> AsyncIterator[None]:
        """Meanwhile pods change, others are deleted, and quotas are recounted for no reason."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._change_pods)
            tasks.start_soon(self._recount)
            yield
            tasks.cancel_scope.cancel()

    async def _change_pods(self) -> None:
        while True:
            await self.world.sleep(random.random() * 0.4)
            pods = await self._pods.list()
            if not pods.items:
                continue
            pod = random.choice(pods.items).metadata
            try:
                if self.gentle or random.random() < 0.3:
                    note = {"metadata": {"annotations": {"at": str(self.world.loop.now)}}}
                    await self._pods.patch(pod.name, note, pod.namespace)
                else:
                    await self._pods.delete(pod.name, pod.namespace, DeleteOptions(grace_period_seconds=0))
            except (NotFound, ApiError):
                continue

    async def _recount(self) -> None:
        while True:
            await self.world.sleep(random.random() * 0.3)
            if self.webhooks:
                random.choice(list(self.webhooks.values())).controller.recount_all()

    async def clear(self) -> None:
        """Delete all pods, and wait until the quota says so."""
        for pod in (await self._pods.list()).items:
            await self._pods.delete(pod.metadata.name, pod.metadata.namespace, DeleteOptions(grace_period_seconds=0))
        await self._come_to_rest()

    async def settle(self) -> None:
        """Whatever has happened: in the end usage is what is stored, and all that fits is let in, and no more."""
        self.is_over = True
        await self._come_to_rest()
        room = self.hard - self.stored
        for _ in range(room):
            while (code := await self.create()) != 201:
                assert code != 403, "a pod was refused for which there was room"
                await self._come_to_rest()
        while (code := await self.create()) not in (201, 403):
            await self._come_to_rest()
        assert code == 403

    async def _come_to_rest(self) -> None:
        # A reservation's time counts from when the leader saw it; and its object is looked for at intervals.
        await self.world.sleep(RESERVATION + 15)
        await self.world.settled()
        status, stored = self.status, self.stored
        assert status["used"] == {"pods": str(stored)}, f"{stored} pods are stored, and the quota says {status}"
        assert not status.get("reservations"), f"there are reservations for nobody: {status}"


async def crowd(world: World) -> None:
    """Four who ask for pods of which few are allowed; others are deleted."""
    replicas = Replicas(world, hard=random.randrange(3, 7))
    await replicas.open()
    async with replicas.trouble(), anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(replicas.requests, 10)
    assert replicas.answers[201] > 0
    await replicas.settle()


async def room_for_all(world: World) -> None:
    """Four who ask for pods of which as many are allowed: nobody may be refused."""
    replicas = Replicas(world, hard=60, gentle=True)
    await replicas.open()
    async with replicas.trouble(), anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(replicas.requests, 8)
    assert replicas.answers[403] == 0
    replicas.is_over = True
    await replicas._come_to_rest()


async def rush(world: World) -> None:
    """Eight who ask at the same moment for pods of which four are allowed, again and again."""
    replicas = Replicas(world, hard=4, gentle=True)
    await replicas.open()
    for _ in range(3):
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(replicas.create)
        assert replicas.answers == {201: 4, 403: 4}
        replicas.answers.clear()
        await replicas.clear()


async def leader_is_behind(world: World) -> None:
    """A leader takes over whose cache does not show the pods that its predecessor has seen, and recounts."""
    replicas = Replicas(world, hard=3, gentle=True)
    processes = await replicas.open()
    leader = next(process for process in processes if replicas.webhook_of(process).leads)
    others = [process for process in processes if process is not leader]
    for process in others:
        world.sight_of(process.name).silent_until["pods"] = world.loop.now + 60
    for _ in range(3):
        assert await replicas.create() == 201
    while replicas.status["reservations"]:
        await world.sleep(1)
    leader.terminate(for_good=True)
    while not any(replicas.webhook_of(process).leads for process in others):
        await world.sleep(0.5)
    for process in others:
        replicas.webhook_of(process).controller.recount_all()
    await world.sleep(2)
    assert await replicas.create() != 201
    await world.sleep(60)
    await replicas.settle()
