"""Finished Jobs go when their time is over, and not before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.models import V1Job
from kinformer_controllers.ttlafterfinished.controller import (
    FinishTimeUnknown,
    TtlAfterFinishedController,
    expires_at,
    finished_at,
    will_expire,
)
from tests.controllers.job.world import KEY, NOW, job_of, stamp
from tests.controllers.objects import FakeContext, FakeInformers, not_found


def finished(
    type_: str = "Complete", *, ago: float = 0, ttl: int | None = 10, dated: bool = True, **rest: Any
) -> V1Job:
    condition = {"type": type_, "status": "True"}
    if dated:
        condition["lastTransitionTime"] = stamp(NOW - timedelta(seconds=ago))
    return job_of(ttlSecondsAfterFinished=ttl, status={"conditions": [condition]}, **rest)


class World:
    """
    :param fresh: what the server has, if that is something else; None for nothing
    """

    def __init__(self, job: V1Job, fresh: V1Job | None = None, *, gone: bool = False) -> None:
        self.informers, self.clock = FakeInformers(), FakeClock()
        self._fresh = None if gone else fresh or job
        self.deleted: list[Any] = []
        self.controller = TtlAfterFinishedController(FakeContext(self, self.informers, clock=self.clock))
        self.informers.informer_for(V1Job).indexer.add(job)

    def resource(self, _: type[Any]) -> Any:
        return self

    async def get(self, name: str, namespace: str) -> V1Job:
        if self._fresh is None:
            raise not_found()
        return self._fresh

    async def delete(self, name: str, namespace: str, options: Any) -> None:
        self.deleted.append((f"{namespace}/{name}", options.propagation_policy, options.preconditions.uid))

    async def sync(self) -> float | None:
        return await self.controller.sync(KEY)


@pytest.mark.parametrize(
    ("job", "left"),
    [
        pytest.param(job_of(ttlSecondsAfterFinished=10), None, id="Error case: Job unfinished"),
        pytest.param(finished(ttl=None), None, id="Error case: Job completed now, no TTL"),
        pytest.param(finished(ttl=0), 0, id="Job completed now, 0s TTL"),
        pytest.param(finished(ttl=10), 10, id="Job completed now, 10s TTL"),
        pytest.param(finished(ttl=15, ago=10), 5, id="Job completed 10s ago, 15s TTL"),
        pytest.param(finished("Failed", ttl=None), None, id="Error case: Job failed now, no TTL"),
        pytest.param(finished("Failed", ttl=0), 0, id="Job failed now, 0s TTL"),
        pytest.param(finished("Failed", ttl=10), 10, id="Job failed now, 10s TTL"),
        pytest.param(finished("Failed", ttl=15, ago=10), 5, id="Job failed 10s ago, 15s TTL"),
    ],
)
async def test_a_finished_job_goes_when_its_time_is_over(job: V1Job, left: float | None) -> None:
    world = World(job)

    wait = await world.sync()

    assert wait == (left or None)
    assert bool(world.deleted) == (left == 0)
    assert expires_at(job) == (None if left is None else NOW + timedelta(seconds=left))


async def test_a_job_goes_with_its_pods_first_and_only_that_one() -> None:
    world = World(finished(ago=20))

    await world.sync()

    assert world.deleted == [(KEY, "Foreground", "uid-j")]


async def test_a_job_that_was_given_more_time_meanwhile_stays() -> None:
    longer, unlimited, again = finished(ago=20, ttl=60), finished(ago=20, ttl=None), job_of(ttlSecondsAfterFinished=1)

    for fresh, wait in ((longer, 40), (unlimited, None), (again, None)):
        world = World(finished(ago=20), fresh)
        assert await world.sync() == wait
        assert not world.deleted


async def test_a_job_that_is_gone_or_on_its_way_is_left() -> None:
    gone, going = World(finished(ago=20), gone=True), World(finished(ago=20, deleting=True))

    assert await gone.sync() is None
    assert await going.sync() is None
    assert await going.controller.sync("ns/nobody") is None
    assert not gone.deleted
    assert not going.deleted


async def test_a_job_that_finished_in_the_future_waits_all_the_longer() -> None:
    assert await World(finished(ago=-30)).sync() == 40


def test_a_job_that_does_not_say_when_it_finished_is_an_error() -> None:
    with pytest.raises(FinishTimeUnknown, match="unable to find the time when the Job ns/j finished"):
        finished_at(finished(dated=False))
    with pytest.raises(FinishTimeUnknown, match="unable to find the status of the finished Job ns/j"):
        finished_at(job_of())


def test_only_jobs_that_are_to_go_are_looked_at() -> None:
    for job in (job_of(), job_of(ttlSecondsAfterFinished=1), finished(ttl=None), finished(deleting=True)):
        assert not will_expire(job, job)
    assert will_expire(None, finished())
    assert will_expire(job_of(), finished())
    assert not will_expire(finished(), None)
