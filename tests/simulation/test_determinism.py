"""The same seed is the same run: in this process, in others, whatever their hashes are."""

from __future__ import annotations

import datetime
import os
import random
import secrets
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from kinformer.simulation import Plan, World, run_world
from tests.simulation.digests import digests

ROOT = Path(__file__).parents[2]


def in_a_world(function: Any, seed: int = 1) -> Any:
    """What a function gives in a run."""
    found = []

    async def scenario(world: World) -> None:
        found.append(await function(world))

    result = run_world(scenario, Plan(seed))
    assert result.error is None, result.error
    return found[0]


def test_seeds_give_the_same_histories_in_processes_with_different_hashes() -> None:
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # not this process's, which is random otherwise
    command = [sys.executable, "-m", "tests.simulation.digests", "0", "8"]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as other:
        here = digests(0, 8)
        there = other.communicate()[0].splitlines()

    assert len(set(here)) == 8
    assert there == here


def test_what_is_random_comes_from_the_seed() -> None:
    async def draw(_: World) -> tuple[Any, ...]:
        return (
            random.random(),
            random.Random().random(),
            uuid.uuid4(),
            secrets.token_hex(8),
            os.urandom(4),
            random.SystemRandom().random(),
        )

    first, again, other = in_a_world(draw, 1), in_a_world(draw, 1), in_a_world(draw, 2)

    assert first == again
    assert not set(first) & set(other)


def test_every_clock_shows_the_time_of_the_world() -> None:
    async def read(world: World) -> list[float]:
        def clocks() -> list[float]:
            return [
                time.time(),
                time.monotonic(),
                time.perf_counter(),
                time.time_ns() / 1e9,
                time.monotonic_ns() / 1e9,
                datetime.datetime.now(datetime.UTC).timestamp(),
                datetime.datetime.now().replace(tzinfo=datetime.UTC).timestamp(),
                datetime.datetime.utcnow().replace(tzinfo=datetime.UTC).timestamp(),
                world.clock.now().timestamp(),
                world.clock.monotonic(),
            ]

        before = clocks()
        await anyio.sleep(86_400)
        assert datetime.date.today() == datetime.date(2026, 1, 2)
        return [now - then for now, then in zip(clocks(), before, strict=True)]

    assert all(abs(seconds - 86_400) < 1e-4 for seconds in in_a_world(read))


def test_a_date_of_a_datetime_subclass_has_that_class() -> None:
    class Moment(datetime.datetime):
        pass

    async def read(_: World) -> Any:
        return Moment.now(datetime.UTC)

    assert type(in_a_world(read)) is Moment


def test_work_for_a_thread_is_done_in_the_loops_own() -> None:
    async def work(_: World) -> tuple[Any, Any]:
        return await anyio.to_thread.run_sync(lambda: 7), await anyio.to_thread.run_sync(len, "abc")

    assert in_a_world(work) == (7, 3)


def test_after_a_run_everything_is_as_it_was() -> None:
    state = random.getstate()

    async def draw(_: World) -> float:
        return random.random()

    in_a_world(draw)

    assert random.getstate() == state
    assert abs(datetime.datetime.now(datetime.UTC).timestamp() - time.time()) < 60
    assert datetime.date.today().year >= 2024
    assert os.urandom(8) != os.urandom(8)
    assert type(random.Random()).__module__ == "random"
