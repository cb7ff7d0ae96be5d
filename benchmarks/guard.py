"""The guard, ``python -m benchmarks.guard``: it fails if something takes over 10 % more instructions than before.

It counts instructions and not seconds, because seconds depend on what else the machine does. Each path of
:mod:`benchmarks.guard_paths` (an event, an object of a list, its first read, a write, a sync) is gone few and many
times under valgrind's callgrind. The difference is the cost of the repetitions. ``--update`` stores the counts for this
Python in ``instructions.json`` beside this module. Commit it with the change that made the difference.

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
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.guard_paths import PATHS

__all__ = ("GuardError", "count", "judge")

STORED = Path(__file__).with_name("instructions.json")
MAY_RISE = 0.10
_SECONDS = 600
_TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)


class GuardError(Exception):
    """The instructions could not be counted. The text says why."""


def count() -> dict[str, int]:
    """
    Count the instructions of each path of :data:`~benchmarks.guard_paths.PATHS`.

    :raises GuardError: if the run fails, or takes too long
    """
    with tempfile.TemporaryDirectory() as folder:
        counted = _instructions(Path(folder) / "counted")
    both = zip(counted[1::3], counted[2::3], strict=True)  # the first of three is left out
    return {
        name: (many - few) // (path.many - path.few)
        for (name, path), (few, many) in zip(PATHS.items(), both, strict=True)
    }


def _instructions(file: Path) -> list[int]:
    """The instructions between the marks of a run, in order. valgrind writes each count to a file of its own."""
    command = ["valgrind", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={file}"]
    command += [sys.executable, "-m", "benchmarks.guard_paths"]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "KUBE_CACHE_MUTATION_DETECTOR": "false",
        "KINFORMER_BLOCKED_LOOP_SECONDS": "0",  # its thread runs by real time, so its share of the instructions varies
    }
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise GuardError(f"the run was not over after {_SECONDS} s") from error
    files = [file.with_name(f"{file.name}.{number + 1}") for number in range(3 * len(PATHS))]
    if done.returncode or not all(each.exists() for each in files):
        raise GuardError(f"the run ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return [int(_TOTAL.findall(each.read_text())[0]) for each in files]


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
        passes, told = judge(instructions, stored, build(), PATHS[name].what)
        print(f"guard: Python {python}: {told}", file=sys.stdout if passes else sys.stderr)
        passed = passed and passes
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
