"""The guard, ``python -m benchmarks.guard``: it fails if something takes over 10 % more instructions than before.

It counts instructions and not seconds, because seconds depend on what else the machine does. Two counts of the same run
differ by a few hundred of about 240 million instructions. :mod:`benchmarks.guard_run` is counted twice under valgrind's
callgrind, with few and with many events; the difference is the cost of the events. Other paths are counted in the same
way, with :mod:`benchmarks.guard_paths`: an object of a list, its first read, a write, a sync. ``--update`` stores the
counts for this Python in ``instructions.json`` beside this module. Commit it with the change that made the difference.

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
#: What else is counted, with its name for people. Few of each are 10, and many are 210.
_PATHS = {
    "list": "a pod of a first list",
    "touch": "a pod of a first list, and the first read of its spec and status",
    "write": "a pod that is created",
    "sync": "a sync of a Deployment and its ReplicaSet",
}
_FEW_OF_A_PATH, _MANY_OF_A_PATH = 10, 210
_SECONDS = 240
_COLLECTED = re.compile(r"Collected : (\d+)")


class GuardError(Exception):
    """The instructions could not be counted. The text says why."""


def count() -> dict[str, int]:
    """
    Count the instructions of an event, as ``event``, and of all other paths.

    :raises GuardError: if a run fails, or takes too long
    """
    few = dict.fromkeys(_PATHS, _FEW_OF_A_PATH)
    runs = [["guard_run", str(events), "metadata"] for events in (_FEW, _MANY)]
    runs += [_run_of_paths(few), *(_run_of_paths({**few, name: _MANY_OF_A_PATH}) for name in _PATHS)]
    # Two runs at the same time: valgrind runs each on one core.
    with ThreadPoolExecutor(2) as both:
        few_events, many_events, base, *many = both.map(_instructions, runs)
    counted = {"event": (many_events - few_events) // (_MANY - _FEW)}
    for name, instructions in zip(_PATHS, many, strict=True):
        counted[name] = (instructions - base) // (_MANY_OF_A_PATH - _FEW_OF_A_PATH)
    return counted


def _run_of_paths(counts: dict[str, int]) -> list[str]:
    return ["guard_paths", *(f"{name}={number}" for name, number in counts.items())]


def _instructions(run: list[str]) -> int:
    module, *arguments = run
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "KUBE_CACHE_MUTATION_DETECTOR": "false",
        "KINFORMER_BLOCKED_LOOP_SECONDS": "0",  # its thread runs by real time, so its share of the instructions varies
    }
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise GuardError(f"{' '.join(run)} was not over after {_SECONDS} s") from error
    found = _COLLECTED.search(done.stderr)
    if done.returncode or found is None:
        raise GuardError(f"{' '.join(run)} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return int(found[1])


def build() -> dict[str, str]:
    """The things on which a count depends besides this project, by name."""
    return {
        "python": platform.python_version(),
        "compiler": platform.python_compiler(),
        "machine": platform.machine(),
        "msgspec": version("msgspec"),
    }


def judge(
    counted: int, stored: dict[str, Any] | None, here: dict[str, str], what: str = "an event"
) -> tuple[bool, str]:
    """
    Compare a count with the stored one.

    :param counted: the instructions of what was counted
    :param stored: the stored count and what it depends on; None if there is none for this Python
    :param here: what :func:`build` returns
    :return: whether the count passes, and a text for people
    """
    told = f"{counted:,} instructions for {what}"
    if stored is None:
        return True, f"{told}; nothing is stored for this Python to compare with: store it with --update"
    unlike = [name for name in ("compiler", "machine") if stored[name] != here[name]]
    if unlike:
        name = unlike[0]
        return True, f"{told}; not compared: the stored count is of {name} {stored[name]}, this is {here[name]}"
    change = counted / stored["instructions"] - 1
    told += f", {change:+.1%} against the {stored['instructions']:,} that are stored"
    if counted <= stored["instructions"] * (1 + MAY_RISE):
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
        counted = count()
    except GuardError as error:
        print(f"guard: {error}", file=sys.stderr)
        return 1
    if update:
        known[python] = {"instructions": counted.pop("event"), "paths": counted, **build()}
        STORED.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n")
        print(f"guard: Python {python}: the counts are stored in {STORED.name}: {known[python]}")
        return 0
    there = known.get(python)
    paths = there.get("paths", {}) if there else {}
    passed = True
    for name, instructions in counted.items():
        of_event = name == "event"
        stored = there if of_event else {**there, "instructions": paths[name]} if there and name in paths else None
        passes, told = judge(instructions, stored, build(), _PATHS.get(name, "an event"))
        print(f"guard: Python {python}: {told}", file=sys.stdout if passes else sys.stderr)
        passed = passed and passes
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
