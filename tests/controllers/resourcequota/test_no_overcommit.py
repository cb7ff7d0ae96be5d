"""Whatever happens at once, no more is admitted than the limits allow, and in the end the books are right."""

from __future__ import annotations

import random
from typing import Any

import anyio
import pytest

from kinformer.client import AlreadyExists, Client, Conflict, DeleteOptions, Forbidden, NotFound
from kinformer.envtest import ApiServer
from kinformer.envtest.plugins import StoredObjects
from kinformer.informers import SharedInformerFactory
from kinformer.meta import Quantity
from kinformer.meta.resourcelist import ResourceList, load, mask, total
from kinformer.models import V1Pod
from kinformer_controllers.resourcequota.controller import ResourceQuotaController
from kinformer_controllers.shared.quota.pods import PodEvaluator
from tests.controllers.objects import FakeContext
from tests.controllers.shared.quota.serving import make_pod, make_quota, quota_server
from tests.turning import eventually

HARD = {"pods": "6", "requests.cpu": "9", "count/pods": "8"}
LIMITS = load(HARD)
NOTHING = load(dict.fromkeys(HARD, "0"))
SIZES = ("1", "1500m", "3", "250m")
WORKERS = 6
STEPS = 80


class Witness:
    """An admission plug-in that sees every pod that has been let through, just before it is stored."""

    def __init__(self) -> None:
        self.server: Any = None
        self.admitted = 0
        self.violations: list[str] = []

    def admit(self, attributes: Any) -> None:
        """Nothing."""

    def validate(self, attributes: Any) -> None:
        if attributes.resource.plural != "pods" or attributes.operation != "CREATE":
            return
        if self.server.exists(attributes.name):
            return  # refused in a moment
        self.admitted += 1
        after = total([self.server.in_use(), PodEvaluator().usage(attributes.object)])
        for name, limit in LIMITS.items():
            if after.get(name, Quantity.of(0)) > limit:
                self.violations.append(f"{name}: {after[name]} of {limit}")


class Stored:
    """The server's objects, read past its API."""

    def __init__(self, server: ApiServer) -> None:
        self._objects = StoredObjects(server.operations)

    def exists(self, name: str) -> bool:
        return self._objects.get("", "pods", "default", name) is not None

    def in_use(self) -> ResourceList:
        return mask(total(map(PodEvaluator().usage, self._objects.list("", "pods", "default"))), HARD)

    def used(self) -> dict[str, str]:
        quota = self._objects.get("", "resourcequotas", "default", "q")
        assert quota is not None
        return (quota.get("status") or {}).get("used") or {}


async def work(client: Client, rng: random.Random) -> None:
    """
    Create, finish and delete pods, as it comes; names are few, so that creates meet what is there already.

    Few times to wake at, too: whoever wakes with others does what it does in the midst of what they do.
    """
    pods: Any = client.resource(dict, ("", "v1", "pods"))
    for _ in range(STEPS):
        name = f"p{rng.randrange(10)}"
        try:
            match rng.randrange(5):
                case 0 | 1 | 2:
                    await pods.create(make_pod(name, cpu=rng.choice(SIZES)))
                case 3:
                    await pods.delete(name, "default", DeleteOptions(grace_period_seconds=0))
                case _:
                    body = {"status": {"phase": rng.choice(["Failed", "Succeeded"])}}
                    await client.resource(V1Pod).patch(name, body, "default", subresource="status")
        except (Forbidden, NotFound, AlreadyExists, Conflict):
            pass
        await client.clock.sleep(rng.randrange(4) * 0.001)


async def delay_news(server: ApiServer, rng: random.Random) -> None:
    """Pods of which controllers hear late: a recount from a cache does not know all that has been charged since."""

    def is_of_pods(call: Any) -> bool:
        return call.verb == "watch" and call.resource == "pods"

    while True:
        await server.clock.sleep(rng.randrange(1, 20) * 0.001)
        server.faults.delay(rng.randrange(1, 30) * 0.001, matching=is_of_pods)
        for watch in list(server.watches.open):
            if watch.resource.plural == "pods":
                watch.cut(in_a_line=False)


async def control(client: Client, rng: random.Random) -> None:
    """Controllers that are killed and started anew, and that recount all the time."""
    while True:
        informers = SharedInformerFactory(client, clock=client.clock)
        controller = ResourceQuotaController(FakeContext(client, informers, clock=client.clock), discovery=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(informers.run)
            tasks.start_soon(controller.run)
            for _ in range(rng.randrange(10, 60)):
                await client.clock.sleep(rng.randrange(5) * 0.001)
                controller.queues.add_all()
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize("seed", range(2))
async def test_no_more_is_admitted_than_the_limits_allow(seed: int) -> None:
    rng = random.Random(seed)
    witness = Witness()
    async with quota_server(witness) as (server, client):
        stored = witness.server = Stored(server)
        quotas: Any = client.resource(dict, ("", "v1", "resourcequotas"))
        created = await quotas.create({**make_quota(), "spec": {"hard": HARD}})
        created["status"] = {"hard": HARD, "used": dict.fromkeys(HARD, "0")}
        await quotas.update_status(created)
        done = anyio.Event()

        async def work_all() -> None:
            async with anyio.create_task_group() as workers:
                for _ in range(WORKERS):
                    workers.start_soon(work, client, random.Random(rng.random()))
            done.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(control, client, random.Random(seed))
            tasks.start_soon(work_all)
            async with anyio.create_task_group() as trouble:
                trouble.start_soon(delay_news, server, random.Random(seed))
                await eventually(done.is_set, client.clock)
                trouble.cancel_scope.cancel()
            # Quiet now: what was charged and never stored is given back by a recount, at the latest.
            await eventually(lambda: load(stored.used()) == {**NOTHING, **stored.in_use()}, client.clock)
            tasks.cancel_scope.cancel()

    assert not witness.violations
    assert witness.admitted > 10
