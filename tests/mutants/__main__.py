"""``python -m tests.mutants``: are mistakes found? A random sample of mutants, and the share that tests kill.

A mutant is a module with one small mistake in it (``operators.py`` names the kinds). It is killed if a test fails that
belongs to the mutant's package; only these run, and end at the first failure. The sample is drawn by a seed, so that a
second run tries the same ones, as long as the code is the same.

Ends with status 1 if fewer are killed than ``--least`` says.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.operators import Mutant, mutants_of
from tests.mutants.running import AREAS, Area, Copy, NotGreen, Outcome

Task = tuple[Area, Path, Mutant]


def sample(areas: Sequence[Area], count: int, seed: int) -> list[Task]:
    """As many mutants as are asked for, each as likely as any other, in the order of their packages."""
    everything = [
        (area, path, mutant) for area in areas for path in area.modules() for mutant in mutants_of(path.read_text())
    ]
    chosen = random.Random(seed).sample(range(len(everything)), min(count, len(everything)))
    return [everything[number] for number in sorted(chosen)]


def report(outcomes: Sequence[Outcome]) -> str:
    """The survivors, and the shares by package and by kind of mistake."""
    lines = [f"survived  {each.path}:{each.mutant}" for each in outcomes if not each.killed_by]
    kinds: dict[str, Callable[[Outcome], str]] = {
        "package": lambda each: str(Path(each.path).parent),
        "mistake": lambda each: each.mutant.operator,
    }
    for title, kind in kinds.items():
        tried, killed = Counter(map(kind, outcomes)), Counter(kind(each) for each in outcomes if each.killed_by)
        lines += ["", f"{title:55}{'tried':>7}{'killed':>7}{'%':>6}"]
        for name, count in sorted(tried.items()):
            lines.append(f"{name:55}{count:7}{killed[name]:7}{share(killed[name], count):6.0f}")
    killed_all = sum(bool(each.killed_by) for each in outcomes)
    lines += ["", f"{killed_all} of {len(outcomes)} killed: {share(killed_all, len(outcomes)):.1f} %"]
    return "\n".join(lines)


def share(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("only", nargs="*", help="packages by a part of their path; all if none")
    parser.add_argument("--sample", type=int, default=300, help="how many mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (default: 2)")
    parser.add_argument("--least", type=float, default=0.0, help="percent that have to be killed")
    parser.add_argument("--list", action="store_true", help="show the sample and run nothing")
    given = parser.parse_args(arguments)
    areas = [area for area in AREAS if not given.only or any(word in area.package for word in given.only)]
    tasks = sample(areas, given.sample, given.seed)
    if given.list:
        print("\n".join(f"{path}:{mutant}" for _, path, mutant in tasks))
        return 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        outcomes = try_all(tasks, Path(folder), given.jobs)
    print(report(outcomes))
    killed = sum(bool(each.killed_by) for each in outcomes)
    return 0 if outcomes and share(killed, len(outcomes)) >= given.least else 1


def try_all(tasks: Sequence[Task], folder: Path, jobs: int) -> list[Outcome]:
    """Each job has a copy of the checkout of its own, and prints what it has tried."""
    local, numbers = threading.local(), iter(range(jobs))

    def one(task: Task) -> Outcome:
        if not hasattr(local, "copy"):
            local.copy = Copy(folder / str(next(numbers)))
        outcome: Outcome = local.copy.try_mutant(*task)
        what = f"killed by {outcome.killed_by}" if outcome.killed_by else "SURVIVED"
        print(f"{outcome.seconds:5.0f} s  {outcome.path}:{outcome.mutant}: {what}", flush=True)
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, tasks))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NotGreen as error:
        sys.exit(str(error))
