"""Reachability: everybody waits for a lost server together, and comes back together when it is back."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.client import OutageOptions, Reachability, ServerUnreachable
from kinformer.clock import FakeClock

GONE = ServerUnreachable("http://h", "Connection refused")


class Server:
    """One that is asked whether it is there."""

    def __init__(
        self, clock: FakeClock, options: OutageOptions | None = None, random: Callable[[], float] = lambda: 1.0
    ):
        self.clock = clock
        self.up = False
        self.asked: list[float] = []
        self.reachability = Reachability("http://h", self.probe, clock, options, random)

    async def probe(self) -> None:
        self.asked.append(self.clock.monotonic())
        if not self.up:
            raise GONE
        self.reachability.found()

    async def wait(self, seconds: float, ended: list[float]) -> None:
        if await self.reachability.wait(seconds):
            ended.append(self.clock.monotonic())


async def test_a_wait_while_the_server_is_there_is_just_a_wait(clock: FakeClock) -> None:
    server = Server(clock)

    with capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.reachability.wait, 30)
            await clock.settle()
            assert clock.next_due == 30
            clock.turn(30)

    assert server.asked == []
    assert logs == []
    assert server.reachability.is_up


async def test_one_probe_wakes_all_within_five_seconds_of_the_servers_return(clock: FakeClock) -> None:
    chances = iter([1.0] + [n / 1000 for n in range(2000)])
    server = Server(clock, random=lambda: next(chances))
    server.reachability.lost(GONE)
    ended: list[float] = []

    async with anyio.create_task_group() as tasks:
        for _ in range(1000):
            tasks.start_soon(server.wait, 60, ended)
        await clock.advance(20)
        asked = len(server.asked)
        server.up = True
        await clock.advance(5)

        assert len(ended) == 1000
        assert max(ended) <= 25
        assert 6 <= asked <= 14
        assert len(server.asked) == asked + 1
        assert max(ended) - min(ended) > 0.5
    assert server.reachability.is_up


async def test_an_answer_to_anybody_ends_the_waits_of_all(clock: FakeClock) -> None:
    server = Server(clock, OutageOptions(probe_interval=0))
    server.reachability.lost(GONE)
    ended: list[float] = []

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.wait, 60, ended)
        await clock.advance(10)
        server.reachability.found()
        await clock.advance(1)

    assert ended == [11]
    assert server.asked == []


async def test_a_wait_does_not_become_longer_than_it_was_to_be(clock: FakeClock) -> None:
    server = Server(clock)
    server.reachability.lost(GONE)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.reachability.wait, 2)
        await clock.advance(2)

    assert not server.reachability.is_up


async def test_an_outage_is_logged_once_at_its_start_and_once_after(clock: FakeClock) -> None:
    server = Server(clock)

    with capture_logs() as logs:
        for _ in range(50):
            server.reachability.lost(GONE)
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(server.reachability.wait, 60)
            await clock.advance(7)
            server.up = True
            await clock.advance(5)

    told = [entry for entry in logs if entry["log_level"] != "debug"]
    assert [(entry["event"], entry["log_level"]) for entry in told] == [
        ("server_unreachable", "warning"),
        ("server_reachable_again", "info"),
    ]
    assert (told[0]["error"], told[0]["next_try_in_seconds"]) == (str(GONE), 3.0)
    assert told[1]["after_seconds"] == 9.0


async def test_who_asks_for_all_may_be_cancelled(clock: FakeClock) -> None:
    server = Server(clock)
    server.reachability.lost(GONE)
    ended: list[float] = []

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as others:
                    others.start_soon(server.wait, 60, ended)
                    await clock.advance(3.5)
                    scope.cancel()
        tasks.start_soon(server.wait, 60, ended)
        server.up = True
        await clock.advance(5)

    assert len(ended) == 1


async def test_a_question_that_nobody_answers_is_given_up_and_asked_again(clock: FakeClock) -> None:
    server = Server(clock)
    asked = 0

    async def silent() -> None:
        nonlocal asked
        asked += 1
        await anyio.sleep_forever()

    server.reachability._probe = silent
    server.reachability.lost(GONE)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.reachability.wait, 60)
        await clock.advance(30)
        tasks.cancel_scope.cancel()

    assert asked == 5


async def test_a_server_that_comes_and_goes_is_asked_more_seldom(clock: FakeClock) -> None:
    server = Server(clock)
    intervals: list[float] = []
    for _ in range(6):
        server.up = False
        server.reachability.lost(GONE)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.reachability.wait, 1000)
            await clock.settle()
            assert clock.next_due is not None
            intervals.append(clock.next_due)
            server.up = True
            await clock.advance(clock.next_due + 1)

    assert intervals == [3, 6, 12, 24, 30, 30]
    clock.turn(60)
    server.reachability.lost(GONE)
    assert server.reachability._interval == 3


@pytest.mark.parametrize("options", [OutageOptions(return_spread=0), OutageOptions(return_spread=8)])
async def test_how_far_those_who_come_back_are_spread_is_an_option(clock: FakeClock, options: OutageOptions) -> None:
    server = Server(clock, options)
    server.reachability.lost(GONE)
    ended: list[float] = []

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.wait, 60, ended)
        await clock.settle()
        server.reachability.found()
        await clock.advance(options.return_spread)

    assert ended == [options.return_spread]


async def test_a_callback_for_the_servers_return_is_called_once(clock: FakeClock) -> None:
    server = Server(clock)
    done: list[str] = []

    server.reachability.call_when_back("early", lambda: done.append("early"))
    server.reachability.lost(GONE)
    for _ in range(3):
        server.reachability.call_when_back("a", lambda: done.append("a"))
    server.reachability.call_when_back("b", lambda: done.append("b"))
    clock.turn(100)
    assert done == []

    server.reachability.found()
    clock.turn(1)
    assert done == ["a", "b"]
    server.reachability.lost(GONE)
    server.reachability.found()
    clock.turn(1)
    assert done == ["a", "b"]
