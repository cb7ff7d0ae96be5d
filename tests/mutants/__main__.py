"""``python -m tests.mutants``: are mistakes found? A random sample of mutants, and the share that tests kill.

A mutant is a module with one small mistake in it (``operators.py`` names the kinds). It is killed if a test fails that
belongs to the mutant's package; only these run, and end at the first failure. Survivors that no test can kill are
listed with their reasons in ``survivors.toml``.

The sample is drawn by a seed. It has the same mutants again as long as their own lines stay the same. With ``--again``
it is the survivors of an earlier run, from what that run has printed.

Ends with status 1 if fewer are killed than ``--least`` says.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutants.forking import prepare
from tests.mutants.operators import Mutant, mutants_of
from tests.mutants.running import AREAS, ROOT, Area, Copy, NotGreen, Outcome, Stage, Suite
from tests.mutants.survivors import Sign, reasons, sign

#: What a run prints of a survivor: path, line and mistake.
_SURVIVED: Final = re.compile(r"^survived  (.+?):(\d+): (.+)$", re.MULTILINE)


class Task(NamedTuple):
    area: Area
    path: str
    mutant: Mutant


def sample(areas: Sequence[Area], count: int, seed: int) -> list[Task]:
    """As many mutants as are asked for, each as likely as any other, in the order of their packages."""
    met = Counter[Sign]()
    ranked: list[tuple[bytes, int, Task]] = []
    for area in areas:
        for module in area.modules():
            path = str(module.relative_to(ROOT))
            for mutant in mutants_of(module.read_text()):
                what = sign(path, mutant)
                met[what] += 1
                rank = sha256(repr((seed, what, met[what])).encode()).digest()
                ranked.append((rank, len(ranked), Task(area, path, mutant)))
    chosen = sorted(ranked)[:count]
    return [task for _, _, task in sorted(chosen, key=lambda entry: entry[1])]


def survivors(areas: Sequence[Area], printed: str) -> list[Task]:
    """
    The mutants that survived a run, each at the line that is nearest to its old one; without those that are no more.

    :param printed: what the run has printed
    """
    found = dict[Task, None]()
    everything = sample(areas, sys.maxsize, seed=0)
    for path, line, mistake in _SURVIVED.findall(printed):
        alike = [task for task in everything if (task.path, task.mutant.mistake) == (path, mistake)]
        distance = min((abs(task.mutant.line - int(line)) for task in alike), default=None)
        found |= dict.fromkeys(task for task in alike if abs(task.mutant.line - int(line)) == distance)
    return list(found)


def report(outcomes: Sequence[Outcome]) -> str:
    """The survivors, and the shares by package and by kind of mistake."""
    known, lines = reasons(), []
    for each in outcomes:
        if not each.killed_by:
            why = known.get(sign(each.path, each.mutant), "no reason is listed")
            lines += [f"survived  {each.path}:{each.mutant}", f"          {why}"]
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
    lines.append(f"{sum(each.seconds for each in outcomes):.0f} seconds of CPU")
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
    parser.add_argument("--again", type=Path, metavar="OUTPUT", help="try the survivors of a run that has printed this")
    parser.add_argument("--list", action="store_true", help="show the sample and run nothing")
    given = parser.parse_args(arguments)
    areas = [area for area in AREAS if not given.only or any(word in area.package for word in given.only)]
    if given.again is not None:
        tasks = survivors(areas, given.again.read_text())
    else:
        tasks = sample(areas, given.sample, given.seed)
    if not tasks:
        parser.error(f"no package has such a mutant: {' '.join(given.only)}")
    if given.list:
        print("\n".join(f"{task.path}:{task.mutant}" for task in tasks))
        return 0
    prepare()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        outcomes = try_all(tasks, Path(folder), given.jobs)
    print(report(outcomes))
    killed = sum(bool(each.killed_by) for each in outcomes)
    return 0 if outcomes and share(killed, len(outcomes)) >= given.least else 1


def try_all(tasks: Sequence[Task], folder: Path, jobs: int) -> list[Outcome]:
    """Each job has a copy of the checkout of its own. What has been tried is printed."""
    outcomes = []
    with ProcessPoolExecutor(jobs, get_context("fork"), _begin, (folder,)) as pool:
        areas = list(dict.fromkeys(task.area for task in tasks))
        # The tests of the next package are looked at while mutants of this one are tried.
        looks = (pool.submit(_suite, area) for area in areas)
        look = next(looks)
        for area in areas:
            suite, look = look.result(), next(looks, look)
            for test in suite.left_out:
                print(f"left out, because it fails without any mutant: {test}", flush=True)
            these = [task for task in tasks if task.area == area]
            for outcome in pool.map(_try, these, [suite.stages(task.path, task.mutant) for task in these]):
                what = f"killed by {outcome.killed_by}" if outcome.killed_by else "SURVIVED"
                print(f"{outcome.seconds:5.1f} s  {outcome.path}:{outcome.mutant}: {what}", flush=True)
                outcomes.append(outcome)
    return outcomes


_copy: Copy  # each job's own


def _begin(folder: Path) -> None:
    global _copy
    _copy = Copy(folder / str(os.getpid()))


def _suite(area: Area) -> Suite:
    return _copy.suite(area)


def _try(task: Task, stages: Sequence[Stage]) -> Outcome:
    return _copy.try_mutant(task.path, task.mutant, stages)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NotGreen as error:
        sys.exit(str(error))
