from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import structlog

from kinformer import blocking
from kinformer.blocking import Blocks, blocked_seconds, warn_when_blocked
from kinformer.cache import ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.testing import FakeControllerSource
from kinformer.clock import FakeClock
from kinformer.manager import Controller
from kinformer.manager.checks import event_loop
from tests.cache.informers import running
from tests.cache.scripted import obj


class Told:
    """What was logged, by any thread, and a way to wait for it without the event loop."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.blocked = threading.Event()

    def __call__(self, logger: Any, method: str, line: Any) -> Any:
        self.lines.append({**line, "level": method})
        if line["event"] == "event_loop_blocked":
            self.blocked.set()
        raise structlog.DropEvent


@pytest.fixture
def told() -> Iterator[Told]:
    before = structlog.get_config()
    told = Told()
    structlog.configure(processors=[told])
    yield told
    structlog.configure(**before)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINFORMER_BLOCKED_LOOP_SECONDS", "0.02")


async def test_a_sync_that_blocks_the_loop_is_reported_with_its_stack(told: Told) -> None:
    async def sync(key: str) -> None:
        secret = "c4n" + "ary"
        # Released by the warning itself: without one this takes as long as the test may.
        assert told.blocked.wait(60), len(secret)

    controller = Controller("blocker", sync)
    controller.queue.add("k")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(controller.run)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    (line,) = [line for line in told.lines if line["event"] == "event_loop_blocked"]
    assert (line["level"], line["task"]) == ("warning", "worker of controller blocker")
    assert "told.blocked.wait(60)" in line["stack"]
    assert "_run_once" not in line["stack"]
    assert "c4nary" not in str(line)


async def test_a_handler_that_blocks_the_loop_is_told_of_by_its_name(told: Told) -> None:
    def block(_: object) -> None:
        assert told.blocked.wait(60)

    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    source.add(obj("a", 1))
    informer = SharedIndexInformer(source, dict, name="pods", clock=clock)
    informer.add_event_handler(ResourceEventHandlerFuncs(add=block))
    async with running(informer.run):
        await clock.settle()

    (line,) = [line for line in told.lines if line["event"] == "event_loop_blocked"]
    assert line["task"].startswith("pods + event handler tests.test_blocking")
    assert "in block" in line["stack"]


async def test_the_same_task_is_told_of_once(told: Told) -> None:
    with warn_when_blocked():
        assert await _blocks(told)
        told.blocked.clear()
        await anyio.lowlevel.checkpoint()
        (watch,) = blocking._watched.values()
        watch._tell()

    assert [line["event"] for line in told.lines] == ["event_loop_blocked"]


async def _blocks(told: Told) -> bool:
    return told.blocked.wait(60)


async def test_one_thread_watches_over_a_loop_and_ends_with_its_last_user() -> None:
    with warn_when_blocked():
        with warn_when_blocked():
            (watch,) = blocking._watched.values()
        assert not watch._stopped.is_set()
    assert watch._stopped.is_set()
    assert blocking._watched == {}


async def test_a_block_as_long_as_the_limit_is_noticed_whenever_it_begins(told: Told) -> None:
    class Waits(threading.Event):
        """Never set, and returns at once. Notes how long it would have waited."""

        seconds = 0.0

        def wait(self, timeout: float | None = None) -> bool:
            self.seconds += timeout or 0.0
            return bool(told.lines)

    with warn_when_blocked():
        (running,) = blocking._watched.values()
        watch = copy.copy(running)
    watch._limit, watch._stopped, watch._turned = 1.0, Waits(), Waits()

    watch._run()

    # The longest time from the start of a block to the warning. Events are asked once more after the warning.
    before_asking, waiting = watch._stopped.seconds / 2, watch._turned.seconds
    assert told.blocked.is_set()
    assert before_asking + waiting <= 1.0 + watch._limit / 100


async def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINFORMER_BLOCKED_LOOP_SECONDS", "0")
    with warn_when_blocked():
        assert blocking._watched == {}


@pytest.mark.parametrize(("setting", "debug", "limit"), [("", False, 1.0), ("", True, 0.1), ("3", True, 3.0)])
async def test_it_is_a_second_or_a_tenth_in_debug_mode_unless_set(
    monkeypatch: pytest.MonkeyPatch, setting: str, debug: bool, limit: float
) -> None:
    monkeypatch.setenv("KINFORMER_BLOCKED_LOOP_SECONDS", setting)
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "get_debug", lambda: debug)

    assert blocking._limit(loop) == limit


async def test_a_setting_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch, told: Told) -> None:
    monkeypatch.setenv("KINFORMER_BLOCKED_LOOP_SECONDS", "soon")

    assert blocking._limit(asyncio.get_running_loop()) == 1.0
    assert [(line["event"], line["value"]) for line in told.lines] == [("setting_ignored", "soon")]


# --- how long it was blocked


def test_a_loops_blocked_time_covers_the_last_seconds_only() -> None:
    blocks = Blocks()
    for since, until in [(10, 20), (50, 55), (70, 72)]:
        blocks.begin(since)
        blocks.end(until)

    assert blocks.seconds(60, now=75) == 5 + 5 + 2
    assert blocks.seconds(10, now=75) == 2
    assert blocks.seconds(60, now=500) == 0


def test_a_block_that_has_not_ended_counts_until_now_and_once() -> None:
    blocks = Blocks()
    blocks.begin(100)
    assert blocks.seconds(60, now=103) == 3
    blocks.end(104)
    assert blocks.seconds(60, now=110) == 4


async def test_a_loop_that_was_blocked_says_for_how_long(told: Told) -> None:
    async def sync(key: str) -> None:
        assert told.blocked.wait(60)
        done.set()

    done = anyio.Event()
    controller = Controller("blocker", sync)
    controller.queue.add("k")
    assert blocked_seconds(60) == 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(controller.run)
        await done.wait()
        blocked = blocked_seconds(60)
        assert blocked > 0
        assert event_loop(blocked / 2)().startswith("it was blocked for ")
        tasks.cancel_scope.cancel()
