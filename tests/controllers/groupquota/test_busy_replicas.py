"""Replicas that are all busy with one quota: each gets its turn, and nobody is refused for whom there is room."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from kinformer.cache.tasks import plain_task_group
from kinformer.operator.webhooks.reviews import read_admission
from kinformer_controllers.groupquota.turns import Turns
from kinformer_controllers.groupquota.webhook import Decision, QuotaWebhook
from tests.controllers.groupquota.replicas import Store, World, _Driver, _until
from tests.controllers.groupquota.setting import Setting, group_quota, setting
from tests.controllers.groupquota.webhook_proxy import review
from tests.controllers.objects import conflict
from tests.controllers.shared.quota.serving import make_pod


@dataclass
class Busy:
    """What came of it: seconds until each answer, and what was written."""

    seconds: list[float] = field(default_factory=list)
    admitted: int = 0
    writes: int = 0


async def busy(seed: int, clients: int = 24, requests: int = 12) -> Busy:
    """Clients that ask three replicas again and again, as soon as they have their answers."""
    world = World(seed, Store(clients * requests), lost=0.0)
    driver, found, done = _Driver(world, gentle=True), Busy(), 0

    async def client() -> None:
        nonlocal done
        for _ in range(requests):
            began = world.clock.monotonic()
            if await driver.one():
                found.admitted += 1
            found.seconds.append(world.clock.monotonic() - began)
        done += 1

    async with plain_task_group() as tasks:
        driver.tasks = tasks
        for _ in range(3):
            driver.start()
        await world.clock.advance(0.2)
        tasks.start_soon(world.replicas[0].lead, 1000.0)
        await _until(world, lambda: "used" in (world.store.quota.get("status") or {}))
        before = world.store.writes
        for _ in range(clients):
            tasks.start_soon(client)
        await _until(world, lambda: done == clients, 60.0)
        found.writes = world.store.writes - before
        tasks.cancel_scope.cancel()
    return found


@pytest.mark.parametrize("seed", range(4))
async def test_three_busy_replicas_admit_all_that_fits_and_keep_nobody_waiting_for_long(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await busy(seed)
    monkeypatch.setattr(Turns, "pause", lambda *_: 0.0)
    without_turns = await busy(seed)

    assert found.admitted == without_turns.admitted == 24 * 12
    # A write takes up to 40 ms here. Without turns those who lose try again, and each write charges fewer requests.
    assert max(found.seconds) < 0.25
    assert found.writes < 0.8 * without_turns.writes


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


async def test_who_meets_conflicts_until_the_time_is_over_is_told_to_try_again_and_not_that_the_quota_is_used_up() -> (
    None
):
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


async def test_who_waits_for_the_turn_of_others_until_the_time_is_over_is_told_to_try_again() -> None:
    async with setting() as place, place.serving() as webhook:
        await place.quotas.create(group_quota({"pods": "9"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        webhook.accessor.pause = lambda *_: 0.1  # type: ignore[method-assign]
        decision = await decided(place, webhook, 10.0)

    assert decision == Decision(504, "Timeout", "quota could not be charged within 8 s; try again later", retry_after=1)
