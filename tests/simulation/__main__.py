"""``python -m tests.simulation``: the long search. Every public bug, its twin, and every controller, with a table.

For each bug a systematic pass that ends when it is found; for each twin a whole one, and seeds; for each controller
seeds, and a systematic pass if asked for. Ends with status 1 if a bug is not found, or anything else is.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from rich.console import Console
from rich.table import Table

from kinformer.simulation.explore import Report, explore, systematic
from kinformer.simulation.trial import Trial
from tests.simulation.bugs import BUGS
from tests.simulation.controllers.catalogue import CASES
from tests.simulation.worlds import trial_of_bug, trial_of_case

#: The faults that are played one by one.
_KINDS: Final = ("crash", "hide", "restart")


@dataclass(frozen=True, slots=True)
class Asked:
    seeds: int
    first_seed: int
    jobs: int
    one_by_one: bool
    only: tuple[str, ...]

    def wants(self, name: str) -> bool:
        return not self.only or any(word in name for word in self.only)


class Search:
    """The search, and its table."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._console = Console()
        self._table = Table("what", "search", "runs", "s", "runs/s", "found")
        self.is_right = True

    def bugs(self) -> None:
        for bug in BUGS:
            if not self._asked.wants(bug.issue):
                continue
            kinds = (*_KINDS, *({bug.found_by} - set(_KINDS)))
            self._pass(f"{bug.issue}", trial_of_bug(str(bug), is_mended=False), kinds, must_fail=True)
            twin = trial_of_bug(str(bug), is_mended=True)
            self._pass("  mended", twin, kinds)
            self._seeds("  mended", twin, self._asked.seeds)

    def controllers(self) -> None:
        for case in CASES:
            if not self._asked.wants(case.name):
                continue
            trial = trial_of_case(case.name)
            self._seeds(case.name, trial, max(self._asked.seeds // case.share, 1))
            if self._asked.one_by_one:
                self._pass(case.name, trial)

    def _pass(self, name: str, trial: Trial, kinds: Sequence[str] = _KINDS, *, must_fail: bool = False) -> None:
        began = time.perf_counter()
        report = systematic(trial, kinds=kinds, jobs=self._asked.jobs)
        self._add(name, "one fault", report, time.perf_counter() - began, must_fail)

    def _seeds(self, name: str, trial: Trial, count: int) -> None:
        began = time.perf_counter()
        seeds = range(self._asked.first_seed, self._asked.first_seed + count)
        report = explore(trial, seeds, jobs=self._asked.jobs)
        self._add(name, "seeds", report, time.perf_counter() - began, False)

    def _add(self, name: str, search: str, report: Report, seconds: float, must_fail: bool) -> None:
        found = str(report.failures[0].plan) if report.failures else ""
        self.is_right &= must_fail == bool(found)
        speed = f"{report.runs / seconds:.0f}"
        self._table.add_row(name, search, str(report.runs), f"{seconds:.1f}", speed, found)
        self._console.print(f"{name}: {search}, {report.runs} runs, {seconds:.1f} s {found}", highlight=False)
        if found and not must_fail:
            self._console.print(str(report.failures[0]), highlight=False, markup=False)

    def print(self) -> None:
        self._console.print(self._table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument(
        "what", nargs="*", default=[], help="bugs and controllers by a part of their names; all if none"
    )
    parser.add_argument("--seeds", type=int, default=1000, help="how many for each (default: 1000)")
    parser.add_argument("--first-seed", type=int, default=0, help="where they begin")
    parser.add_argument("--jobs", type=int, default=2, help="in how many processes (default: 2)")
    parser.add_argument("--one-by-one", action="store_true", help="play each single fault of each controller, too")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    search = Search(Asked(given.seeds, given.first_seed, given.jobs, given.one_by_one, tuple(given.what)))
    search.bugs()
    search.controllers()
    search.print()
    return 0 if search.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
