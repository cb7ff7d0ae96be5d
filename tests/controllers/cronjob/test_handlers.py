"""What wakes a CronJob, and when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.manager import EnqueueKeys
from kinformer.manager.predicates import resource_version_changed
from kinformer.models import V1CronJob, V1Job
from kinformer_controllers.cronjob.controller import CronJobHandler
from tests.controllers.cronjob.test_sync import HOUR, KEY, World, cron_job, job_of
from tests.controllers.objects import drained

BEFORE = HOUR - timedelta(seconds=1)


def handlers(world: World, type_: type[Any]) -> Any:
    queue = world.controller.controller.queue
    if type_ is V1CronJob:
        return CronJobHandler(queue, world.recorder, world.clock)
    return EnqueueKeys(queue.add, world.controller.owners_of, [resource_version_changed])


def woken(world: World) -> list[str]:
    return drained(world.controller.controller.queue)


@pytest.mark.parametrize(
    ("old", "new", "delay"),
    [
        pytest.param({}, {"suspend": True}, 0, id="spec.template changed"),
        pytest.param({"schedule": "30 * * * *"}, {"schedule": "*/1 * * * *"}, 1.1, id="spec.schedule changed"),
        pytest.param({"schedule": "@every 1m"}, {"schedule": "@every 3m"}, 121.1, id="@every cadence decrease"),
        pytest.param({"schedule": "@every 3m"}, {"schedule": "@every 1m"}, 1.1, id="@every cadence increase"),
        pytest.param(
            {"timeZone": "America/New_York"}, {"timeZone": "America/New_York"}, 0, id="spec.timeZone not changed"
        ),
        pytest.param({"timeZone": "America/New_York"}, {"timeZone": None}, 1.1, id="spec.timeZone changed"),
    ],
)
async def test_a_changed_schedule_wakes_a_cron_job_at_its_next_run(
    old: dict[str, Any], new: dict[str, Any], delay: float
) -> None:
    status = {"lastScheduleTime": "2016-05-19T09:59:00Z"}
    was, is_ = (cron_job(**{"schedule": "0 * * * *", **spec}, status=status) for spec in (old, new))
    world = World(is_, now=BEFORE)

    handlers(world, V1CronJob).on_update(was, is_)

    if delay:
        assert not woken(world)
        assert world.clock.next_due == pytest.approx(delay)
    else:
        assert woken(world) == [KEY]


async def test_a_schedule_changed_to_nonsense_is_reported_and_wakes_nobody() -> None:

    world = World(cron_job("x"), now=BEFORE)

    handlers(world, V1CronJob).on_update(cron_job(), cron_job("x"))

    assert not woken(world)
    assert world.recorder.events == ["Warning UnParseableCronJobSchedule c: unparseable schedule for cronjob: x"]


async def test_changes_of_a_job_wake_its_cron_job() -> None:
    owner = cron_job()
    world = World(owner, now=BEFORE)
    handler = handlers(world, V1Job)
    job, changed, freed, strange = (job_of(owner, HOUR) for _ in range(4))
    for version, each in enumerate((job, changed, freed, strange)):
        each.metadata.resource_version = str(version)
    freed.metadata.owner_references = None
    strange.metadata.owner_references[0].uid = "another"

    def after(*calls: Any) -> list[str]:
        for call, *arguments in calls:
            call(*arguments)
        return woken(world)

    assert after((handler.on_add, job, False)) == [KEY]
    assert after((handler.on_update, job, changed)) == [KEY]
    assert after((handler.on_update, job, job)) == []
    assert after((handler.on_update, job, freed)) == [KEY]
    assert after((handler.on_add, freed, False), (handler.on_add, strange, False)) == []
    assert after((handler.on_delete, job)) == [KEY]
    assert after((handler.on_delete, DeletedFinalStateUnknown("ns/x", job))) == [KEY]
    assert after((handler.on_delete, DeletedFinalStateUnknown("ns/x", None))) == []
