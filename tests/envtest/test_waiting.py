"""Waiting in tests: what passes, what fails, and what it says then."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from kinformer.client import Client, NotFound
from kinformer.clock import FakeClock
from kinformer.envtest import eventually, running, turn
from kinformer.models import V1ConfigMap, V1ObjectMeta


async def test_it_returns_what_the_check_returns_once_that_says_yes() -> None:
    answers = iter([False, "", [], "yes"])

    assert await eventually(lambda: next(answers)) == "yes"


async def test_none_is_a_yes_as_functions_of_assertions_return_it() -> None:
    tries: list[int] = []

    async def is_the_third() -> None:
        tries.append(1)
        assert len(tries) == 3

    await eventually(is_the_third)
    assert len(tries) == 3


async def test_what_is_not_found_is_not_there_yet(kinformer_client: Client) -> None:
    maps = kinformer_client.resource(V1ConfigMap)

    async def create() -> None:
        await maps.create(V1ConfigMap(metadata=V1ObjectMeta(name="a", namespace="default")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(create)
        assert (await eventually(lambda: maps.get("a", "default"))).metadata.name == "a"


async def test_what_is_read_of_nothing_is_not_there_yet() -> None:
    found: dict[str, Any] = {"made": None}
    statuses = iter([None, V1ObjectMeta(), V1ObjectMeta(labels={}), V1ObjectMeta(labels={"a": "b"})])

    def check() -> None:
        found["made"] = next(statuses, found["made"])
        assert found["made"].labels.get("a")
        found["labels"] = found["made"].labels["a"]

    await eventually(check, seconds=5)
    assert found["labels"] == "b"
    with pytest.raises(AssertionError, match="the last time: KeyError: 'b'"):
        await eventually(lambda: found["b"], seconds=0.01)


async def test_nothing_raised_within_raises_is_not_there_yet(kinformer_client: Client) -> None:
    maps = kinformer_client.resource(V1ConfigMap)
    await maps.create(V1ConfigMap(metadata=V1ObjectMeta(name="a", namespace="default")))
    tries = []

    async def is_gone() -> None:
        tries.append(1)
        with pytest.raises(NotFound):
            await maps.get("a", "default")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(eventually, is_gone)
        await eventually(lambda: tries)
        await maps.delete("a", "default")


async def test_other_errors_are_raised_at_once() -> None:
    def check() -> None:
        raise ValueError("a mistake of the test")

    with pytest.raises(ValueError, match="a mistake of the test"):
        await eventually(check)
    with pytest.raises(AttributeError, match="labelz"):
        await eventually(lambda: V1ObjectMeta().labelz)  # type: ignore[attr-defined]  # the mistake


async def test_a_failure_says_what_was_wrong_the_last_time() -> None:
    async def is_ready() -> None:
        raise AssertionError("0 of 2 replicas")

    with pytest.raises(AssertionError, match=r"is_ready has not come true \(0.01 s\); the last time: 0 of 2 replicas"):
        await eventually(is_ready, seconds=0.01)
    with pytest.raises(AssertionError, match=r"the last time: it returned \[\]"):
        await eventually(list, seconds=0.01)


async def test_a_failure_shows_the_last_outcomes_that_were_different_and_until_when() -> None:
    clock, replicas = FakeClock(), [0, 0, 1, 1, 1]

    async def is_ready() -> None:
        found = replicas.pop(0) if len(replicas) > 1 else replicas[0]
        clock.call_later(10, lambda: None)
        raise AssertionError(f"{found} of 2 replicas")

    with pytest.raises(AssertionError) as failure:
        await eventually(is_ready, seconds=60, clock=clock)
    assert str(failure.value).splitlines() == [
        "is_ready has not come true (60 s); the last time: 1 of 2 replicas",
        "before that, until 10 s: 0 of 2 replicas",
    ]


async def test_turning_a_clock_waits_after_each_thing_that_falls_due() -> None:
    clock, seen = FakeClock(), list[float]()

    async def tick() -> None:
        while True:
            await clock.sleep(10)
            seen.append(clock.monotonic())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await turn(clock, 35)
        assert (seen, clock.monotonic()) == ([10, 20, 30], 35)
        tasks.cancel_scope.cancel()


async def test_a_clock_is_turned_to_what_is_due_and_no_further() -> None:
    clock, woken = FakeClock(), anyio.Event()

    async def sleep() -> None:
        await clock.sleep(3600)
        await clock.sleep(3600)
        woken.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleep)
        await eventually(woken.is_set, clock=clock, seconds=7200)
        assert clock.monotonic() == 7200


async def test_a_clock_on_which_nothing_is_due_ends_it() -> None:
    with pytest.raises(AssertionError, match=r"no timer is left after 0 s"):
        await eventually(lambda: False, clock=FakeClock())


async def test_a_clock_that_would_be_turned_too_far_ends_it() -> None:
    clock = FakeClock()
    clock.call_later(60, lambda: None)

    with pytest.raises(AssertionError, match=r"has not come true \(10 s\)"):
        await eventually(lambda: False, seconds=10, clock=clock)
    assert clock.monotonic() == 0


class Runner:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.cancelled = False

    async def run(self) -> None:
        if self.error is not None:
            raise self.error
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled = True


async def test_what_is_running_ends_with_the_body() -> None:
    async with running(Runner()) as runner:
        await anyio.lowlevel.checkpoint()
        assert not runner.cancelled

    assert runner.cancelled


async def test_what_it_raises_ends_the_body_is_logged_and_raised() -> None:
    error = TimeoutError("no lists")

    with capture_logs() as logs, pytest.raises(TimeoutError, match="no lists"):
        async with running(Runner(error)):
            await anyio.sleep_forever()

    # Of a body that is a fixture's, a test's runner shows only that the test was cancelled.
    assert [(line["event"], line["what"], line["error"]) for line in logs] == [
        ("running_failed", "Runner", "TimeoutError: no lists")
    ]


async def test_what_the_body_raises_is_raised_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with running(Runner()):
            raise KeyError
