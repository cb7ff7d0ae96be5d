"""Many things going wrong with several managers at once, by seeded schedules. At no time do two write.

A process that has ended is started again under another name, as its supervisor would do. Once all is well again,
somebody writes.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from datetime import timedelta

import pytest

from kinformer.leaderelection import JITTER_FACTOR
from tests.leaderelection.processes import LEASE, World, processes

SEEDS = range(10)

_STEPS = 30
_ALIVE = 3
#: Seconds until somebody leads, whatever was before: a lease that has just been renewed, seen one retry later, has to
#: run out; a call that hangs is given up; a cache is compared.
_AGAIN = LEASE.lease_duration + 2 * LEASE.retry_period * (1 + JITTER_FACTOR) + LEASE.renew_deadline + 10


class Schedule:
    """One seed's events: each begins at random, and what lasts ends after a while."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed)
        self._ends: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()
        self._names = (f"p{number}" for number in itertools.count())

    async def run(self) -> None:
        for _ in range(_STEPS):
            self._start_what_is_missing()
            self._happen()
            await self._pass(self._rng.uniform(0.2, 6))
        await self._pass(60)
        self._start_what_is_missing()
        now = self._world.clock.monotonic()
        await self._world.until(lambda: self._world.written.since(now), within=_AGAIN)

    async def _pass(self, seconds: float) -> None:
        end = self._world.clock.monotonic() + seconds
        while self._ends and self._ends[0][0] <= end:
            at, _, undo = heapq.heappop(self._ends)
            await self._world.turn(max(at - self._world.clock.monotonic(), 0))
            undo()
        await self._world.turn(max(end - self._world.clock.monotonic(), 0))

    def _start_what_is_missing(self) -> None:
        alive = [process for process in self._world.processes.values() if not process.ended and not process.dead]
        for _ in range(_ALIVE - len(alive)):
            self._world.start(next(self._names))

    def _for_a_while(self, undo: Callable[[], object], longest: float = 30) -> None:
        at = self._world.clock.monotonic() + self._rng.uniform(0.1, longest)
        heapq.heappush(self._ends, (at, next(self._order), undo))

    def _happen(self) -> None:
        rng, world = self._rng, self._world
        alive = [process for process in world.processes.values() if not process.ended and not process.dead]
        leading = [process for process in alive if process.leads]
        process = rng.choice(leading if leading and rng.random() < 0.6 else alive)
        match rng.choice(("stop", "stop", "cut", "hang", "kill", "terminate", "time", "rate", "late", "watches")):
            case "stop":
                process.stop()
                self._for_a_while(process.go_on)
            case "cut":
                process.is_cut = True
                self._for_a_while(process.mend)
            case "hang":
                process.hang(answers=rng.random() < 0.5)
                self._for_a_while(process.mend)
            case "kill":
                process.kill()
            case "terminate":
                process.terminate()
            case "time":
                process.clock.ahead = timedelta(seconds=rng.uniform(-1e6, 1e6))
            case "rate":
                process.clock.rate = rng.uniform(0.95, 1.05)
            case "late":
                world.server.faults.delay(rng.uniform(0, 1.5), times=rng.randint(1, 30))
            case "watches":
                world.server.faults.cut_watches()


@pytest.mark.parametrize("seed", SEEDS)
async def test_at_no_time_do_two_write_and_in_the_end_one_does(seed: int) -> None:
    async with processes() as world:
        await Schedule(world, seed).run()
