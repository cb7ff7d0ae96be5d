"""``python -m tests.sharding run``: schedules of a group of members, each from a seed.

::

    python -m tests.sharding run --seed 0 --schedules 100000
    python -m tests.sharding one 4711                          # what happens in one of them
"""

from __future__ import annotations

import asyncio
import gc
import selectors
import time
from collections import Counter
from typing import Any

import click
import structlog

from tests.sharding.simulation import Report, Violation, World

_TELL_EVERY = 1000
_COLLECT_EVERY = 100


class _NoSockets(selectors.SelectSelector):
    """Asks the system for nothing: on a turned clock something is always ready, or the schedule is stuck."""

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout > 0:
            raise RuntimeError("nothing is ready, and nobody turns the clock")
        return []


@click.group()
def main() -> None:
    """Members that come, go, pause and lose the server, on a clock that is turned."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))


@main.command()
@click.option("--seed", default=0, show_default=True, help="The first one.")
@click.option("--schedules", default=1000, show_default=True, help="How many to run.")
def run(seed: int, schedules: int) -> None:
    """Run schedules, and say what has happened in all of them."""
    began, cpu = time.monotonic(), time.process_time()
    total: Counter[str] = Counter()
    failed: list[int] = []
    # Without calls of the system, and with garbage collected where little of it is left: a third less CPU.
    gc.disable()
    for number in range(seed, seed + schedules):
        try:
            with asyncio.Runner(loop_factory=_new_loop) as runner:
                total.update(_counts(runner.run(World(number).run())))
        except Exception as error:
            failed.append(number)
            print(f"seed {number}: {_told(error)}", flush=True)
        done = number - seed + 1
        if not done % _COLLECT_EVERY:
            gc.collect()
        if not done % _TELL_EVERY:
            print(f"{done} schedules, {len(failed)} failed, {time.monotonic() - began:.0f} s", flush=True)
    told = ", ".join(f"{count:,} {what}" for what, count in total.items())
    print(f"{schedules:,} schedules from seed {seed}: {len(failed)} failed. {told}")
    print(f"{time.monotonic() - began:.0f} s, {time.process_time() - cpu:.0f} s of them CPU")
    raise SystemExit(bool(failed))


@main.command()
@click.argument("seed", type=int)
def one(seed: int) -> None:
    """Run one schedule, and say what happens in it."""
    world = World(seed)
    try:
        asyncio.run(world.run())
    finally:
        print("\n".join(world.report.events))


def _new_loop() -> asyncio.AbstractEventLoop:
    return asyncio.SelectorEventLoop(_NoSockets())


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, Violation) else repr(error)


def _counts(report: Report) -> dict[str, int]:
    return {
        "syncs": report.syncs,
        "writes": report.writes,
        "writes refused": report.refused,
        "members that left": report.left,
        "members that lost their Lease": report.lost,
        "things that happened": len(report.events),
    }


if __name__ == "__main__":
    main()
