"""A group of members in one process, on a clock that is turned: the project's own code, and a world that is hard on it.

From one seed: members join, leave, are killed, are paused (their timers fire and answers come when they wake up), are
cut off; requests are slow, get lost, or lose their answers; wall clocks jump; Leases and the table are deleted.
Meanwhile workers of every member try to sync keys as the gate lets them, and write.

What is checked at every step:

- when a sync begins, no other process is in a sync of the same key and could still write;
- when a write arrives, nobody has begun a sync of the same key since its sender did;
- when a sync begins, its cache shows every write of that key;
- in the end, when the world leaves the members alone, every range has an owner that serves it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, Final

import anyio

from kinformer.client import ClientError
from kinformer.clock import Clock, FakeClock, Timer, sleep_by_timer
from kinformer.leaderelection import ElectionOptions, guarded_client
from kinformer.sharding import MembershipLost, Ranges, Sharding, ShardMember
from kinformer.sharding.gate import RangeState
from tests.sharding.server import LeaseServer, Line

__all__ = ("Report", "Violation", "World", "run_schedule")

#: How long Leases last in a schedule: one of these.
OPTIONS: Final = (ElectionOptions(4, 3, 2), ElectionOptions(6, 5, 1))
RANGES: Final = Ranges(6)
KEYS: Final = tuple(f"ns-{number}" for number in range(6))


class Violation(AssertionError):
    """What must never happen has happened."""


class OwnClock:
    """
    A member's clock: the world's, but for a wall clock that jumps, and a process that can be stopped for a while.
    """

    def __init__(self, world: FakeClock) -> None:
        self._world = world
        self._wall = timedelta()
        self._missed: list[tuple[int, Callable[[], object]]] | None = None
        self.monotonic = world.monotonic

    def now(self) -> datetime:
        return self._world.now() + self._wall

    def jump(self, seconds: float) -> None:
        self._wall += timedelta(seconds=seconds)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return self._call_later(seconds, callback, 1)

    def arrive_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """The same for what comes through a socket: an event loop that wakes up sees that before its timers."""
        return self._call_later(seconds, callback, 0)

    def _call_later(self, seconds: float, callback: Callable[[], object], order: int) -> Timer:
        timer = _OwnTimer(callback)

        def fire() -> None:
            if self._missed is not None:
                self._missed.append((order, timer.fire))
            else:
                timer.fire()

        timer.timer = self._world.call_later(seconds, fire)
        return timer

    async def sleep(self, seconds: float) -> None:
        await sleep_by_timer(self, seconds)

    def stop(self) -> None:
        """As SIGSTOP does."""
        if self._missed is None:
            self._missed = []

    def go_on(self) -> None:
        missed, self._missed = self._missed, None
        for _, fire in sorted(missed or (), key=itemgetter(0)):
            fire()


class _OwnTimer:
    __slots__ = ("callback", "timer")

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback
        self.timer: Timer | None = None

    def fire(self) -> None:
        callback, self.callback = self.callback, None
        if callback is not None:
            callback()

    def cancel(self) -> None:
        self.callback = None
        if self.timer is not None:
            self.timer.cancel()


@dataclass(eq=False)
class Report:
    """What happened."""

    events: list[str] = field(default_factory=list)
    syncs: int = 0
    writes: int = 0
    lost: int = 0
    left: int = 0
    refused: int = 0
    most_members: int = 0


class ModelCaches:
    """What a member's informers would hold of the keys: how often each was written."""

    def __init__(self, world: World, clock: Clock) -> None:
        self._world = world
        self._clock = clock
        self._numbers: frozenset[int] = frozenset()
        self._asked = 0
        self._filled = 0
        self.seen: dict[str, int] = {}

    def hold(self, numbers: frozenset[int]) -> None:
        if numbers - self._numbers:
            self._asked += 1
        self._numbers = numbers
        self.seen = {key: count for key, count in self.seen.items() if RANGES.of(key) in numbers}

    async def wait_filled(self) -> None:
        while self._filled < self._asked:
            asked = self._asked
            await self._clock.sleep(self._world.random.random() * 0.3)
            for key in KEYS:
                if RANGES.of(key) in self._numbers:
                    self.seen[key] = self._world.written[key]
            await self._clock.sleep(self._world.random.random() * 0.3)
            self._filled = asked


class Process:
    """One process: a member, its line, its clock, its workers."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.name = f"m{number}"
        self.clock = OwnClock(world.clock)
        self.line = Line(world.server, self.name, world.clock, self.clock, world.random, world.trouble)
        self.caches = ModelCaches(world, self.clock)
        client = self.line.client
        self.member = ShardMember(
            Sharding(options=world.options),
            client,
            self.caches,
            ranges=RANGES,
            clock=self.clock,
            random=world.random.random,
            name=self.name,
        )
        self.guarded = guarded_client(client, self.member.guard)
        self.scope = anyio.CancelScope()
        self.syncing: dict[str, int] = {}
        self.ended = False
        self.killed = False

    async def run(self) -> None:
        try:
            with self.scope:
                await self.member.run(self._work)
            self.world.report.left += 1
        except MembershipLost:
            self.world.report.lost += 1
        finally:
            self.ended = True
            self.world.report.refused += self.member.guard.refused

    async def _work(self) -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(self._worker)

    async def _worker(self) -> None:
        draw = self.world.random
        while True:
            await self.clock.sleep(0.1 + draw.random() * 0.8)
            key = draw.choice(KEYS)
            if key in self.syncing:
                continue
            with self.member.gate.entered(key, key, lambda: None) as may:
                if may:
                    await self._sync(key)

    async def _sync(self, key: str) -> None:
        draw = self.world.random
        self.syncing[key] = self.world.began(self, key)
        try:
            if draw.random() < 0.5:
                await self.clock.sleep(draw.random() * (3.0 if draw.random() < 0.1 else 0.3))
            await self.guarded.request("PUT", f"/keys/{key}")
            self.world.report.writes += 1
        except ClientError:
            pass
        finally:
            del self.syncing[key]


class World:
    """Everything that there is in one schedule."""

    def __init__(self, seed: int, *, trouble: float | None = None, compares: bool = True) -> None:
        self.random = random.Random(seed)
        self.clock = FakeClock()
        self.server = LeaseServer(compares=compares, wrote=self._arrived)
        self.trouble = self.random.choice((0.0, 0.02, 0.1)) if trouble is None else trouble
        self.options = self.random.choice(OPTIONS)
        self.report = Report()
        self.processes: list[Process] = []
        self.written: dict[str, int] = dict.fromkeys(KEYS, 0)
        #: Each sync has a number, and each key the number of the sync that began last.
        self._syncs = itertools.count(1)
        self._last: dict[str, int] = {}
        self._names = itertools.count(1)
        self._tasks: Any = None
        self.violation: Violation | None = None

    # --- what is checked

    def began(self, process: Process, key: str) -> int:
        self.report.syncs += 1
        for other in self.processes:
            if other is not process and key in other.syncing and other.member.guard.is_open:
                self._fail(f"{process.name} begins a sync of {key} while {other.name} is in one")
        if process.caches.seen.get(key) != self.written[key]:
            self._fail(f"{process.name} syncs {key} by a cache that is behind")
        number = self._last[key] = next(self._syncs)
        return number

    def _arrived(self, member: str, key: str) -> None:
        process = next(it for it in self.processes if it.name == member)
        number = process.syncing.get(key)
        self.written[key] += 1
        process.caches.seen[key] = process.caches.seen.get(key, 0) + 1
        # A sync that was cancelled is not known any more: its write must come before anybody else begins, too.
        if number is not None and number != self._last[key]:
            self._fail(f"a write of {member} to {key} arrives after another sync of it began")

    def _fail(self, what: str) -> None:
        # Noted, and raised by run(): raised here it would be one more error of a sync.
        self.violation = self.violation or Violation(f"at {self.clock.monotonic():.3f} s: {what}")

    # --- what happens

    async def run(self, seconds: float = 12.0, calm: float = 14.0) -> Report:
        """
        :param seconds: for which things happen
        :param calm: seconds after which all must be well again
        :raises Violation: the first one
        """
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for _ in range(self.random.choice((1, 2, 2, 3))):
                self._join()
            end = self.clock.monotonic() + seconds
            while self.clock.monotonic() < end and self.violation is None:
                await self.clock.advance(self.random.random() * 2.5)
                self._something()
            if self.violation is None:
                await self._calm(calm)
            await self._end()
        if self.violation is not None:
            raise self.violation
        return self.report

    async def _end(self) -> None:
        """End all tasks, those of the dead included."""
        found, self.violation = self.violation, Violation("no more is checked")
        for process in self.processes:
            process.scope.cancel()
            process.line.trouble, process.line.is_cut = 0.0, False
            process.clock.go_on()
        await self.clock.advance(20)
        self._tasks.cancel_scope.cancel()
        self.violation = found

    def _join(self) -> None:
        process = Process(self, next(self._names))
        self.processes.append(process)
        self._note("join", process)
        self._tasks.start_soon(process.run)
        self.report.most_members = max(self.report.most_members, len(self._running()))

    def _running(self) -> list[Process]:
        return [process for process in self.processes if not process.ended and not process.killed]

    def _something(self) -> None:
        running = self._running()
        if len(running) < self.random.choice((1, 2, 3, 3, 4)):
            self._join()
            return
        process = self.random.choice(running)
        what = self.random.choice(("leave", "end", "kill", "pause", "pause", "cut", "jump", "delete", "table", "calm"))
        self._note(what, process)
        match what:
            case "leave":
                self._tasks.start_soon(self._leave, process)
            case "end":
                process.scope.cancel()
            case "kill":
                process.killed = True
                process.line.is_cut = True
                process.clock.stop()
            case "pause":
                process.clock.stop()
                self.clock.call_later(self.random.random() * 9, process.clock.go_on)
            case "cut":
                process.line.is_cut = True
                self.clock.call_later(self.random.random() * 9, lambda: self._mend(process))
            case "jump":
                process.clock.jump(self.random.uniform(-1e6, 1e6))
            case "delete":
                self.server.leases.pop(process.name, None)
            case "table" if self.random.random() < 0.3:
                self.server.leases.pop("kinformer-manager-shards", None)

    async def _leave(self, process: Process) -> None:
        await process.member.leave()
        process.scope.cancel()

    def _mend(self, process: Process) -> None:
        process.line.is_cut = process.killed

    async def _calm(self, seconds: float) -> None:
        """Leave everybody alone, and see that everything is served again, by those who are left or by a new one."""
        for process in self._running():
            process.clock.go_on()
            process.line.is_cut = False
            process.line.trouble = 0.0
        self.trouble = 0.0
        for _ in range(2):
            if not self._running():
                self._join()
            end = self.clock.monotonic() + seconds
            while not self._all_served() and self.clock.monotonic() < end:
                await self.clock.advance(0.5)
            if self._running():
                break
        if not self._all_served():
            states = {it.name: it.member.gate.states for it in self._running()}
            self._fail(f"not every range is served in the end: {states}")

    def _all_served(self) -> bool:
        served = [number for it in self._running() for number in it.member.gate.in_state(RangeState.OPEN)]
        return sorted(served) == list(range(len(RANGES)))

    def _note(self, what: str, process: Process) -> None:
        self.report.events.append(f"{self.clock.monotonic():7.3f} {what} {process.name}")


async def run_schedule(seed: int, **world: Any) -> Report:
    """One schedule. Raises Violation."""
    return await World(seed, **world).run()
