"""``python -m tests.fuzz``: attack the embedded API server with inputs from seeds, or measure what requests cost.

::

    python -m tests.fuzz run --seed 1 --inputs 1000000     # in rounds, each a process of its own
    python -m tests.fuzz growth                            # four times as many items: how many times the cost?
    python -m tests.fuzz stalls                            # how long the loop stands still for 3 MB
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import anyio
import click

from kinformer.envtest import ApiServer
from tests.fuzz.corpus import save
from tests.fuzz.engine import attack
from tests.fuzz.growth import every_growing, measure
from tests.fuzz.inputs import Inputs
from tests.fuzz.stalls import LONGEST, stalls

_ROUND = 20_000
_BYTES = 3 << 30
_CPU_SECONDS = 600


@click.group()
def main() -> None:
    """Attack the embedded API server."""


@main.command()
@click.option("--seed", default=1, show_default=True)
@click.option("--inputs", default=2_000, show_default=True, help="How many to send.")
@click.option("--minutes", default=0.0, help="Begin no round after so many minutes; 0 for no limit.")
@click.option("--found", type=click.Path(path_type=Path), help="A folder for the inputs that were not taken well.")
def run(seed: int, inputs: int, minutes: float, found: Path | None) -> None:
    """Send inputs, in rounds: each has a process of its own, and the next seed."""
    began, sent, findings, crashes, slowest, memory = time.monotonic(), 0, 0, 0, 0.0, 0.0
    codes: Counter[str] = Counter()
    number = seed
    while sent < inputs and not (minutes and time.monotonic() - began > 60 * minutes):
        count = min(_ROUND, inputs - sent)
        command = [sys.executable, "-m", "tests.fuzz", "round", str(number), str(count)]
        ran = subprocess.run([*command, str(found or "")], stdout=subprocess.PIPE, text=True, check=False)
        if ran.returncode == 0:
            told = json.loads(ran.stdout)
            findings += told["findings"]
            codes.update(told["codes"])
            slowest, memory = max(slowest, told["slowest"]), max(memory, told["memory"])
        else:
            crashes += 1
            print(f"seed {number}: the process ended with {ran.returncode}", file=sys.stderr)
        sent += count
        number += 1
        print(
            f"{sent:,} inputs, {findings} findings, {crashes} crashes; slowest {slowest * 1000:.0f} ms of CPU, "
            f"{memory:.0f} MB; {dict(sorted(codes.items()))}",
            flush=True,
        )
    sys.exit(bool(findings or crashes))


@main.command(hidden=True)
@click.argument("seed", type=int)
@click.argument("count", type=int)
@click.argument("found", default="")
def round(seed: int, count: int, found: str) -> None:  # noqa: A001  # the name of a command
    """One round: prints what it came to as JSON, and the findings for people."""
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    outcome = anyio.run(attack, islice(iter(Inputs(seed).next, None), count))
    for finding in outcome.findings:
        print(finding, file=sys.stderr)
        if found:
            save(finding.input, Path(found))
    seconds, one = outcome.slowest
    if one is not None and seconds > 0.25:
        print(f"slow, {seconds * 1000:.0f} ms: {one.method} {one.path[:200]}", file=sys.stderr)
    told = {
        "findings": len(outcome.findings),
        "codes": {str(code): times for code, times in outcome.codes.items()},
        "slowest": seconds,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(told))


@main.command()
@click.option("--items", default=700, show_default=True, help="How many there are at first.")
def growth(items: int) -> None:
    """How many times as much four times as many items cost, for each list of each kind."""

    async def measure_all() -> None:
        async with ApiServer(plugins=False, seed=1) as server:
            found = [one async for one in measure(server, list(every_growing(server)), items)]
        for one in sorted(found, key=lambda one: -one.times)[:25]:
            print(f"{one.times:6.1f} times, {one.seconds * 1000:6.0f} ms  {one.method:5} {one.growing} ({one.code})")

    anyio.run(measure_all)


@main.command("stalls")
@click.option("--passes", default=3, show_default=True, help="How often it is tried again, on a machine that is busy.")
def show_stalls(passes: int) -> None:
    """How long the event loop stands still while bodies of 3 MB are taken; fails if that is always over 250 ms."""
    for _ in range(passes):
        longest = 0.0
        for name, code, seconds in stalls():
            longest = max(longest, seconds)
            print(f"{seconds * 1000:6.0f} ms  {code}  {name}", flush=True)
        if longest <= LONGEST:
            return
        print(f"the longest took {longest * 1000:.0f} ms: want {LONGEST * 1000:.0f} at most", flush=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
