"""Replicas that are all busy with one quota: each gets its turn, and nobody is refused for whom there is room."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kinformer.operator.webhooks.reviews import read_admission
from kinformer.simulation import Plan, World, run_world
from kinformer.simulation.network import NetworkOptions
from kinformer.tasks import plain_task_group
from kinformer_controllers.groupquota.turns import Turns
from kinformer_controllers.groupquota.webhook import Decision, QuotaWebhook
from tests.controllers.groupquota.setting import Setting, group_quota, setting
from tests.controllers.groupquota.webhook_proxy import review
from tests.controllers.groupquota.worlds import CHECKS, OPTIONS, Replicas
from tests.controllers.objects import conflict
from tests.controllers.shared.quota.serving import make_pod

# What is written takes 2 to 40 ms.
SLOW = replace(OPTIONS, network=NetworkOptions(latency=(0.001, 0.02)))
CLIENTS, REQUESTS = 16, 6
SEED = 2


@dataclass
class Busy:
    """What came of it: seconds until each answer, and how often the quota was written."""

    seconds: list[float] = field(default_factory=list)
    admitted: int = 0
    writes: int = 0


def busy(seed: int) -> Busy:
    """Clients that ask for pods again and again, as soon as they have their answers."""
    found = Busy()

    async def scenario(world: World) -> None:
        replicas = Replicas(world, CLIENTS * REQUESTS, gentle=True)
        await replicas.open()

        async def client() -> None:
            for _ in range(REQUESTS):
                began = world.loop.now
                code = await replicas.create()
                found.admitted += code == 201
                found.seconds.append(world.loop.now - began)

        before = len(world.history)
        async with plain_task_group() as tasks:
            for _ in range(CLIENTS):
                tasks.start_soon(client)
        found.writes = sum(
            record.what == "write" and record.object.startswith("groupquotas")
            for record in world.history.records[before:]
        )

    result = run_world(scenario, Plan(seed), options=SLOW, checks=CHECKS)
    assert result.error is None
    assert not result.violations
    return found


@pytest.mark.usefixtures("only_pods_are_followed")
def test_three_busy_replicas_admit_what_fits_without_a_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    found = busy(SEED)
    monkeypatch.setattr(Turns, "pause", lambda *_: 0.0)
    without_turns = busy(SEED)

    assert found.admitted == without_turns.admitted == CLIENTS * REQUESTS
    assert max(found.seconds) < 0.5
    # Without turns those who lose try again, and each write charges fewer requests: 37 writes instead of 23.
    assert found.writes < 0.9 * without_turns.writes


# --- where time runs out all the same


async def decided(place: Setting, webhook: QuotaWebhook, seconds: float) -> Decision:
    asked = read_admission(json.dumps(review("pods", "shop-1", make_pod("a", "shop-1"))).encode())
    answers: list[Decision] = []

    async def ask() -> None:
        answers.append(await webhook.decide(asked, seconds))

    async with plain_task_group() as tasks:
        tasks.start_soon(ask)
        await place.eventually(lambda: answers)
    return answers[0]


async def test_conflicts_until_the_time_limit_ask_for_a_retry() -> None:
    async with setting() as place, place.serving() as webhook:
        await place.quotas.create(group_quota({"pods": "9"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})

        async def refused(quota: Any) -> None:
            raise conflict()

        webhook.accessor.update = refused  # type: ignore[method-assign]
        decision = await decided(place, webhook, 10.0)

    assert decision == Decision(
        504,
        "Timeout",
        "quota could not be charged within 8 s: others changed it at each try; try again later",
        retry_after=1,
    )


async def test_waiting_for_others_turns_until_the_limit_asks_for_a_retry() -> None:
    async with setting() as place, place.serving() as webhook:
        await place.quotas.create(group_quota({"pods": "9"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        webhook.accessor.pause = lambda *_: 0.1  # type: ignore[method-assign]
        decision = await decided(place, webhook, 10.0)

    assert decision == Decision(504, "Timeout", "quota could not be charged within 8 s; try again later", retry_after=1)
