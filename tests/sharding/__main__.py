"""``python -m tests.sharding run``: schedules of a group of members, each from a seed.

::

    python -m tests.sharding run --seed 0 --schedules 100000
    python -m tests.sharding one 4711                          # what happens in one of them
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import click
import structlog

from tests.sharding.simulation import Report, Violation, World

_TELL_EVERY = 1000


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
    for number in range(seed, seed + schedules):
        try:
            total.update(_counts(asyncio.run(World(number).run())))
        except Violation as violation:
            failed.append(number)
            print(f"seed {number}: {violation}", flush=True)
        done = number - seed + 1
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
