"""Whatever happens at once: no more is admitted than the limits allow, no less than fits, and usage ends up right."""

from __future__ import annotations

import json
import random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from kinformer.client import AlreadyExists, ApiError, DeleteOptions, Forbidden, NotFound
from kinformer.operator.webhooks.reviews import read_admission
from tests.controllers.groupquota.setting import Setting, group_quota, setting, through
from tests.controllers.groupquota.webhook_proxy import review
from tests.controllers.shared.quota.serving import make_pod

# Nothing here looks at the time of day. But one takes seconds of CPU, and the machine may have much other work.
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("seed", range(3))
async def test_no_recount_between_admission_and_storage_lets_two_through_one_place(seed: int) -> None:
    rng = random.Random(seed)
    most = 0
    recounted = anyio.Event()

    async with setting() as place:

        async def in_between() -> None:
            await place.clock.sleep(rng.randrange(20) * 0.001)
            if rng.random() < 0.15:
                raise ConnectionError("the API server died before it stored the object")

        async def work(pods: Any) -> None:
            nonlocal most
            while not recounted.is_set():
                name, namespace = f"p{rng.randrange(12)}", rng.choice(["shop-1", "shop-2"])
                try:
                    if rng.random() < 0.7:
                        await pods.create(make_pod(name, namespace))
                    else:
                        await pods.delete(name, namespace, DeleteOptions(grace_period_seconds=0))
                except (ApiError, Forbidden, NotFound, AlreadyExists):
                    pass
                most = max(most, place.pods())
                await place.clock.sleep(rng.randrange(1, 4) * 0.001)

        await place.quotas.create(group_quota({"pods": "4"}))
        async with through(place, in_between=in_between) as pods, anyio.create_task_group() as workers:
            for is_first in (True, False):
                # Longer than anything takes between admission and storage.
                async with place.serving(reservation=0.1) as webhook:
                    if is_first:
                        await place.eventually(lambda: place.used() == {"pods": "0"})
                        for _ in range(6):
                            workers.start_soon(work, pods)
                    for _ in range(60):
                        webhook.controller.recount_all()
                        await place.turn(0.005)
            recounted.set()
            # Who waits between admission and storage, or for its turn.
            await place.turn(0.05)
        async with place.serving(reservation=0.1):
            await place.eventually(lambda: place.used() == {"pods": str(place.pods())})

    assert 0 < most <= 4


async def delay_news(place: Setting, rng: random.Random) -> None:
    """Pods of which the webhook hears late."""

    def is_of_pods(call: Any) -> bool:
        return bool(call.verb == "watch" and call.resource.plural == "pods")

    while True:
        await place.clock.sleep(rng.randrange(1, 20) * 0.001)
        place.server.faults.delay(rng.randrange(1, 30) * 0.001, matching=is_of_pods)
        for watch in list(place.server.watches.open):
            if watch.resource.plural == "pods":
                watch.cut(in_a_line=False)


def delay_writes(place: Setting, webhook: Any, rng: random.Random) -> None:
    """Charges, and corrections, that are some time on their way."""
    update = webhook.accessor.update

    async def slow(quota: Any) -> None:
        await place.clock.sleep(rng.randrange(3) * 0.001)
        await update(quota)
        await place.clock.sleep(rng.randrange(3) * 0.001)

    webhook.accessor.update = slow


@pytest.mark.parametrize("seed", range(6))
async def test_slow_writes_late_news_and_callers_that_go_away_lead_to_no_more_than_the_limit(seed: int) -> None:
    rng = random.Random(seed)
    most = admitted = 0
    over = False

    async with setting() as place:

        async def in_between() -> None:
            await place.clock.sleep(rng.randrange(20) * 0.001)
            if rng.random() < 0.1:
                raise ConnectionError("the API server died before it stored the object")

        async def work(pods: Any) -> None:
            nonlocal most, admitted
            while not over:
                name, namespace = f"p{rng.randrange(12)}", rng.choice(["shop-1", "shop-2"])
                try:
                    with anyio.move_on_after(None) as scope:
                        # Some callers do not wait for their answer; what they asked for may be stored all the same.
                        timer = place.clock.call_later(rng.choice([0.004, 60.0, 60.0]), scope.cancel)
                        if rng.random() < 0.5:
                            await pods.create(make_pod(name, namespace))
                            admitted += 1
                        else:
                            await pods.delete(name, namespace, DeleteOptions(grace_period_seconds=0))
                except (ApiError, Forbidden, NotFound, AlreadyExists):
                    pass
                finally:
                    timer.cancel()
                most = max(most, place.pods())
                await place.clock.sleep(rng.randrange(1, 4) * 0.001)

        async with place.serving(reservation=0.1) as webhook:
            await place.quotas.create(group_quota({"pods": "4"}))
            await place.eventually(lambda: place.used() == {"pods": "0"})
            delay_writes(place, webhook, rng)
            async with through(place, in_between=in_between) as pods, anyio.create_task_group() as tasks:
                tasks.start_soon(delay_news, place, rng)
                for _ in range(6):
                    tasks.start_soon(work, pods)
                for _ in range(120):
                    webhook.controller.recount_all()
                    await place.turn(0.005)
                over = True
                # Who waits between admission and storage, or for its turn.
                await place.turn(0.1)
                tasks.cancel_scope.cancel()
            most = max(most, place.pods())
            # What was reserved and never stored is given back by then.
            await place.turn(5)
            assert place.used() == {"pods": str(place.pods())}
            assert place.reserved() == 0

    assert 0 < most <= 4
    assert admitted > 5


@pytest.mark.parametrize("seed", range(12))
async def test_no_recount_refuses_a_request_that_fits(seed: int) -> None:
    rng = random.Random(seed)
    refused: list[str] = []
    async with setting() as place, place.serving() as webhook, through(place) as pods:
        await place.quotas.create(group_quota({"pods": "40"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        delay_writes(place, webhook, rng)

        async def one(number: int) -> None:
            await place.clock.sleep(rng.randrange(30) * 0.001)
            for _ in range(rng.randrange(100)):
                await anyio.lowlevel.checkpoint()
            try:
                await pods.create(make_pod(f"s{number}", "shop-1"))
            except ApiError as error:
                refused.append(str(error))

        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(one, number)
            for _ in range(120):
                webhook.controller.recount_all()
                await place.turn(0.001)
        await place.turn(1)

        assert refused == []
        assert place.used() == {"pods": "40"}


async def test_a_recount_that_comes_between_a_reservation_and_its_write_charges_it_once() -> None:
    async with setting() as place, place.serving() as webhook:
        await place.quotas.create(group_quota({"pods": "2"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        update, reached, go_on = webhook.accessor.update, anyio.Event(), anyio.Event()

        async def slow(quota: Any) -> None:
            reached.set()
            await go_on.wait()
            await update(quota)

        webhook.accessor.update = slow  # type: ignore[method-assign]
        asked = read_admission(json.dumps(review("pods", "shop-1", make_pod("a", "shop-1"))).encode())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(webhook.decide, asked)
            await place.eventually(reached.is_set)
            webhook.controller.recount_all()
            await place.turn(0.1)
            go_on.set()
        await place.turn(0.1)

        assert place.used() == {"pods": "1"}
