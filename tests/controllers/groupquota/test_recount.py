"""A recount that comes at the worst moment."""

from __future__ import annotations

import json
from typing import Any

import anyio

from kinformer.operator.webhooks.reviews import read_admission
from tests.controllers.groupquota.setting import group_quota, setting
from tests.controllers.groupquota.webhook_proxy import review
from tests.controllers.shared.quota.serving import make_pod


async def test_a_recount_between_a_reservation_and_its_write_charges_once() -> None:
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
