from __future__ import annotations

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.cache import CacheNotSynced, ResourceEventHandlerFuncs, SharedIndexInformer, wait_for_cache_sync
from kinformer.cache.testing import FakeControllerSource
from kinformer.clock import FakeClock, RealClock
from tests.cache.informers import passing, running


class Syncing:
    """Syncs after so many seconds, never if that is None."""

    def __init__(self, name: str, clock: FakeClock, after: float | None):
        self.name = name
        self._synced = anyio.Event()
        if after is not None and after <= 0:
            self._synced.set()
        elif after is not None:
            clock.call_later(after, self._synced.set)

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()


def caches(clock: FakeClock, **after: float | None) -> list[Syncing]:
    return [Syncing(name, clock, seconds) for name, seconds in after.items()]


async def test_with_nothing_to_wait_for_it_returns_at_once() -> None:
    await wait_for_cache_sync(clock=FakeClock())
    await wait_for_cache_sync(clock=RealClock())


async def test_it_returns_when_the_last_has_synced() -> None:
    clock = FakeClock()
    waited = caches(clock, first=10, second=5, last=0)
    await passing(clock, lambda: wait_for_cache_sync(*waited, clock=clock))

    assert all(cache.has_synced for cache in waited)
    assert clock.monotonic() == 10


async def test_when_the_time_is_up_the_error_names_those_that_are_late() -> None:
    clock = FakeClock()
    waited = caches(clock, first=10, second=None, third=None, last=0)
    error = await passing(clock, lambda: wait_for_cache_sync(*waited, timeout=60, clock=clock))

    assert isinstance(error, CacheNotSynced)
    assert error.late == ("second", "third")
    assert str(error) == "not synced after 60 seconds: second, third"
    assert clock.monotonic() == 60


async def test_what_has_synced_counts_even_with_no_time_to_wait() -> None:
    clock = FakeClock()
    await wait_for_cache_sync(*caches(clock, only=0), timeout=0, clock=clock)


async def test_the_log_names_those_that_are_late_less_and_less_often() -> None:
    clock = FakeClock()
    waited = caches(clock, first=15, second=3600)
    with capture_logs() as logs:
        await passing(clock, lambda: wait_for_cache_sync(*waited, clock=clock))

    assert [line["late"] for line in logs[:2]] == [("first", "second"), ("second",)]
    assert len(logs) == 15  # after 10, 30, 70, 150 and 310 s, and then every five minutes


async def test_cancelling_the_wait_leaves_no_timer() -> None:
    clock = FakeClock()
    async with running(lambda: wait_for_cache_sync(*caches(clock, only=None), timeout=60, clock=clock)):
        await clock.settle()

    assert clock.next_due is None


async def test_an_error_of_a_cache_is_raised_as_it_is() -> None:
    class Broken(Syncing):
        async def wait_synced(self) -> None:
            raise KeyError(self.name)

    clock = FakeClock()
    with pytest.raises(KeyError):
        await wait_for_cache_sync(Broken("broken", clock, None), clock=clock)
    assert clock.next_due is None


async def test_informers_and_handlers_can_be_waited_for_by_name() -> None:
    clock = FakeClock()
    informer = SharedIndexInformer(FakeControllerSource(), dict, name="pods", clock=clock)
    registration = informer.add_event_handler(ResourceEventHandlerFuncs(print))
    error = await passing(clock, lambda: wait_for_cache_sync(informer, registration, timeout=1, clock=clock))

    assert error.late == ("pods", "pods + event handler builtins.print")
    async with running(informer.run):
        await wait_for_cache_sync(informer, registration, clock=clock)
