"""The guard, ``python -m benchmarks.guard``: it fails if an event takes over 10 % more instructions than before.

It counts instructions and not seconds, because seconds depend on what else the machine does. Two counts of the same run
differ by a few hundred of about 240 million instructions. :mod:`benchmarks.guard_run` is counted twice under valgrind's
callgrind, with few and with many events; the difference is the cost of the events. ``--update`` stores the count for
this Python in ``instructions.json`` beside this module. Commit it with the change that caused the difference.

The counts of two Python versions, or of two compilers, cannot be compared. If there is no count to compare with, or no
valgrind, the guard says so and passes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ("GuardError", "count", "judge")

STORED = Path(__file__).with_name("instructions.json")
MAY_RISE = 0.10
_FEW, _MANY = 50, 2050
_SECONDS = 110
_COLLECTED = re.compile(r"Collected : (\d+)")


class GuardError(Exception):
    """The instructions could not be counted. The text says why."""


def count() -> int:
    """
    Count the instructions of an event.

    :raises GuardError: if a run fails, or takes too long
    """
    # Both runs at the same time: valgrind runs each on one core.
    with ThreadPoolExecutor() as both:
        few, many = both.map(_instructions, (_FEW, _MANY))
    return (many - few) // (_MANY - _FEW)


def _instructions(events: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [sys.executable, "-m", "benchmarks.guard_run", str(events), "metadata"]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "KUBE_CACHE_MUTATION_DETECTOR": "false",
        "KINFORMER_BLOCKED_LOOP_SECONDS": "0",  # its thread runs by real time, so its share of the instructions varies
    }
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise GuardError(f"a run of {events} events was not over after {_SECONDS} s") from error
    found = _COLLECTED.search(done.stderr)
    if done.returncode or found is None:
        raise GuardError(f"a run of {events} events ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return int(found[1])


def build() -> dict[str, str]:
    """The things on which a count depends besides this project, by name."""
    return {
        "python": platform.python_version(),
        "compiler": platform.python_compiler(),
        "machine": platform.machine(),
        "msgspec": version("msgspec"),
    }


def judge(per_event: int, stored: dict[str, Any] | None, here: dict[str, str]) -> tuple[bool, str]:
    """
    Compare a count with the stored one.

    :param per_event: the instructions of an event
    :param stored: the stored count and what it depends on; None if there is none for this Python
    :param here: what :func:`build` returns
    :return: whether the count passes, and a text for people
    """
    told = f"{per_event:,} instructions for an event"
    if stored is None:
        return True, f"{told}; nothing is stored for this Python to compare with: store it with --update"
    unlike = [name for name in ("compiler", "machine") if stored[name] != here[name]]
    if unlike:
        name = unlike[0]
        return True, f"{told}; not compared: the stored count is of {name} {stored[name]}, this is {here[name]}"
    change = per_event / stored["instructions"] - 1
    told += f", {change:+.1%} against the {stored['instructions']:,} that are stored"
    if per_event <= stored["instructions"] * (1 + MAY_RISE):
        return True, told
    also = [
        f"{name} {stored[name]} then, {here[name]} now" for name in ("python", "msgspec") if stored[name] != here[name]
    ]
    told += f": more than {MAY_RISE:.0%} up" + "".join(f" ({text})" for text in also)
    return False, f"{told}. If that is meant, store it: python -m benchmarks.guard --update"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__.partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="store the count")
    update = parser.parse_args().update
    if shutil.which("valgrind") is None:
        print("guard: valgrind is not installed: instructions are not counted")
        return 0
    python = "{}.{}".format(*sys.version_info)
    known: dict[str, dict[str, Any]] = json.loads(STORED.read_text()) if STORED.exists() else {}
    try:
        per_event = count()
    except GuardError as error:
        print(f"guard: {error}", file=sys.stderr)
        return 1
    if update:
        known[python] = {"instructions": per_event, **build()}
        STORED.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n")
        print(f"guard: Python {python}: {per_event:,} instructions for an event, stored in {STORED.name}")
        return 0
    passes, told = judge(per_event, known.get(python), build())
    print(f"guard: Python {python}: {told}", file=sys.stdout if passes else sys.stderr)
    return 0 if passes else 1


if __name__ == "__main__":
    sys.exit(main())
