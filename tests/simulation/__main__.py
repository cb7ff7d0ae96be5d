"""``python -m tests.simulation``: the long search. Every public and every planted bug, its twin, and every controller.

For each bug a systematic pass that ends when it is found; for each twin a whole one, and seeds; for each controller
seeds, and a systematic pass if asked for; for each scenario that was recorded on a real cluster seeds with crashes and
late news, every single crash, and seeds with more faults. Ends with status 1 if a bug is not found, or anything else
is.

With ``--minutes`` it plays seeds of controllers and recorded scenarios in turn, a few of each at a time, until the time
is over. So a run of CI finds what it can in a fixed time.

Ctrl-C ends it after the table of what was done until then, with status 130. With ``--results FILE`` each search that is
over is noted in the file, and a later call with the same file goes on with those that are not.
"""

from __future__ import annotations

import argparse
import json
import logging
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import structlog
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from kinformer.simulation.explore import OnRun, Report, Run, explore, systematic
from kinformer.simulation.faults import Faults
from kinformer.simulation.single import USUAL_KINDS, single_deviations
from kinformer.simulation.trial import Trial
from tests.simulation.budget import play_for
from tests.simulation.bugs import BUGS
from tests.simulation.controllers.case import CRASHED_AND_LATE
from tests.simulation.controllers.catalogue import CASES
from tests.simulation.planted import PLANTED
from tests.simulation.recorded import CURRENT_AT_THE_START, LASTING, RECORDED, trial_of_recorded
from tests.simulation.worlds import trial_of_bug, trial_of_case

__all__ = ("Found", "Search", "main", "searches")

#: The faults that are played one by one.
_KINDS: Final = USUAL_KINDS
#: Different failures of one search that are looked for, and runs that are spent on making each smaller.
_FAILURES: Final = 3
_SHRINKING: Final = 150
#: Of so many seeds one is played of each recorded scenario: there are many, and much alike.
_SHARE_OF_RECORDED: Final = 10
#: Seconds between two lines that tell how far a search is, where there is no terminal.
_TOLD: Final = 60.0
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed."""

    seeds: int
    first_seed: int
    jobs: int
    one_by_one: bool
    only: tuple[str, ...]

    def wants(self, name: str) -> bool:
        return not self.only or any(word in name for word in self.only)


@dataclass(frozen=True, slots=True)
class Search:
    """
    One thing to do.

    :param trial: makes what is played
    :param seeds: those to play; None to play single faults instead
    :param kinds: of the single faults
    :param faults: the rates of random faults; None for the usual ones
    :param must_fail: whether something has to be found
    """

    name: str
    trial: Callable[[], Trial]
    seeds: range | None = None
    kinds: Sequence[str] = _KINDS
    faults: Faults | None = None
    must_fail: bool = False

    @property
    def how(self) -> str:
        return f"seeds {self.seeds.start} to {self.seeds.stop - 1}" if self.seeds is not None else "one fault"

    def runs(self, trial: Trial) -> int:
        """How many runs it has, if nothing is found."""
        return len(self.seeds) if self.seeds is not None else len(single_deviations(trial.undisturbed, self.kinds))

    def do(self, trial: Trial, jobs: int, on_run: OnRun) -> Report:
        if self.seeds is not None:
            return explore(
                trial,
                self.seeds,
                faults=self.faults,
                jobs=jobs,
                stop_after=_FAILURES,
                shrinking=_SHRINKING,
                on_run=on_run,
            )
        return systematic(
            trial,
            kinds=self.kinds,
            jobs=jobs,
            stop_after=1 if self.must_fail else _FAILURES,
            shrinking=_SHRINKING,
            on_run=on_run,
        )


@dataclass
class Found:
    """
    What came of a search.

    :param seconds: from its beginning to its end
    :param cpu: seconds that all processes have computed
    :param plans: what fails, as small as was found
    """

    name: str
    how: str
    must_fail: bool
    runs: int = 0
    failing: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    plans: list[str] = field(default_factory=list)
    is_over: bool = False

    @property
    def is_right(self) -> bool:
        return self.must_fail == bool(self.failing) if self.is_over else self.must_fail or not self.failing

    def count(self, run: Run) -> None:
        self.runs += 1
        self.failing += bool(run.oracles)

    def __str__(self) -> str:
        text = f"{self.name}, {self.how}: {self.runs} runs, {self.failing} failing, {self.seconds:.0f} s, "
        text += f"{self.cpu:.0f} s of CPU{'' if self.is_over else ', stopped'}"
        return text + "".join(f"\n    {plan}" for plan in self.plans)


def searches(asked: Asked) -> Iterator[Search]:
    """All that is asked for."""
    for bug in BUGS:
        if not asked.wants(bug.issue):
            continue
        kinds = (*_KINDS, *({bug.found_by} - set(_KINDS)))
        yield Search(bug.issue, lambda bug=bug: trial_of_bug(str(bug), is_mended=False), None, kinds, must_fail=True)
        for seeds in (None, _seeds(asked)):
            name = f"{bug.issue} mended"
            yield Search(name, lambda bug=bug: trial_of_bug(str(bug), is_mended=True), seeds, kinds)
    for planted in PLANTED:
        if not asked.wants(name := f"planted: {planted}"):
            continue
        kinds = (planted.kind, *(kind for kind in _KINDS if kind != planted.kind))
        yield Search(name, planted.broken, None, kinds, must_fail=True)
        for seeds in (None, _seeds(asked)):
            yield Search(f"{name}, mended", planted.mended, seeds, kinds)
    for case in CASES:
        if not asked.wants(case.name):
            continue
        for seeds in (_seeds(asked, case.share), None)[: 1 + asked.one_by_one]:
            kinds = _KINDS if case.faults is None else ("crash",)
            yield Search(case.name, lambda case=case: trial_of_case(case.name), seeds, kinds, case.faults)
    for recorded in RECORDED:
        if asked.wants(name := f"{recorded} as recorded"):
            few = _seeds(asked, _SHARE_OF_RECORDED)
            for seeds in (few, None):
                trial = partial(trial_of_recorded, recorded)
                yield Search(name, trial, seeds, ("crash",), CRASHED_AND_LATE)
            if recorded in LASTING:
                trial = partial(trial_of_recorded, recorded, extra_generated=1.0)
                yield Search(f"{name}, more faults", trial, few, faults=CURRENT_AT_THE_START)


def _seeds(asked: Asked, share: int = 1) -> range:
    return range(asked.first_seed, asked.first_seed + max(asked.seeds // share, 1))


class Notes:
    """
    The searches that are over, in a file of one line each.

    :param file: None to keep nothing
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.known: dict[tuple[str, str], Found] = {}
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                found = Found(**json.loads(line))
                self.known[found.name, found.how] = found

    def add(self, found: Found) -> None:
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(asdict(found))}\n")


class Shown:
    """How far a search is: a bar on a terminal, now and then a line elsewhere."""

    def __init__(self, console: Console, title: str, found: Found) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[more]}"),
        )
        self._progress = Progress(
            *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._console = console
        self._title = title
        self._found = found
        self._task = self._progress.add_task(escape(title), total=None, more="")
        self._total = 0
        self._told = time.monotonic()

    def __enter__(self) -> Shown:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def total(self, runs: int) -> None:
        self._total = runs
        self._progress.update(self._task, total=runs)

    def count(self, run: Run) -> None:
        self._found.count(run)
        self._progress.update(self._task, advance=1, more=f"{self._found.failing} failing")
        if not self._console.is_terminal and time.monotonic() - self._told >= _TOLD:
            self._told = time.monotonic()
            done = f"{self._found.runs} of {self._total} runs, {self._found.failing} failing"
            self._console.print(f"{self._title}: {done}", highlight=False, markup=False)


def do(search: Search, jobs: int, console: Console, number: str) -> Found:
    """
    Do one search.

    :param number: which of how many it is
    :raises Stopped: if Ctrl-C ends it
    """
    found = Found(search.name, search.how, search.must_fail)
    began, computed = time.monotonic(), _cpu()
    try:
        with Shown(console, f"{number} {search.name}, {search.how}", found) as shown:
            trial = search.trial()
            shown.total(search.runs(trial))
            report = search.do(trial, jobs, shown.count)
    except KeyboardInterrupt:
        raise Stopped(_timed(found, began, computed)) from None
    found.is_over = True
    found.runs, found.failing = report.runs, report.failing
    found.plans = [str(failure.plan) for failure in report.failures]
    if not search.must_fail:
        for failure in report.failures:
            console.print(str(failure), highlight=False, markup=False, soft_wrap=True)
    return _timed(found, began, computed)


class Stopped(Exception):
    """A search was ended by Ctrl-C. Has what was found until then."""

    def __init__(self, found: Found) -> None:
        super().__init__(str(found))
        self.found = found


def _timed(found: Found, began: float, computed: float) -> Found:
    found.seconds, found.cpu = time.monotonic() - began, _cpu() - computed
    return found


def _cpu() -> float:
    """Seconds of this process, and of those that it has started and that are over."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _table(rows: Sequence[Found]) -> Table:
    table = Table()
    table.add_column("what", no_wrap=True)
    table.add_column("search", no_wrap=True)
    for name in ("runs", "failing", "s", "CPU s", "runs/CPU s"):
        table.add_column(name, justify="right")
    table.add_column("found")
    for row in rows:
        speed = f"{row.runs / row.cpu:.1f}" if row.cpu else ""
        numbers = (str(row.runs), str(row.failing), f"{row.seconds:.1f}", f"{row.cpu:.1f}", speed)
        how = row.how if row.is_over else f"{row.how}, stopped"
        table.add_row(escape(row.name), how, *numbers, escape("\n".join(row.plans)))
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", nargs="*", default=[], help="bugs and controllers by a part of their names; all if none"
    )
    parser.add_argument("--seeds", type=int, default=1000, help="how many for each (default: 1000)")
    parser.add_argument("--first-seed", type=int, default=0, help="where they begin")
    parser.add_argument("--jobs", type=int, default=2, help="in how many processes (default: 2)")
    parser.add_argument("--one-by-one", action="store_true", help="play each single fault of each controller, too")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="note each search that is over, and go on after it"
    )
    parser.add_argument("--minutes", type=float, help="play seeds in turn for so many minutes, and nothing else")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    # A log has no width.
    console, notes = Console(width=None if sys.stdout.isatty() else 160), Notes(given.results)
    asked = Asked(given.seeds, given.first_seed, given.jobs, given.one_by_one, tuple(given.what))
    if given.minutes is not None:
        return play_for(given.minutes * 60, given.first_seed, given.jobs, asked.wants)
    everything, rows, is_stopped = list(searches(asked)), [], False
    for number, search in enumerate(everything, 1):
        if (found := notes.known.get((search.name, search.how))) is None:
            try:
                found = do(search, asked.jobs, console, f"{number}/{len(everything)}")
            except Stopped as stopped:
                found, is_stopped = stopped.found, True
            else:
                notes.add(found)
            console.print(str(found), highlight=False, markup=False, soft_wrap=True)
        rows.append(found)
        if is_stopped:
            break
    console.print(_table(rows))
    if is_stopped:
        over = sum(row.is_over for row in rows)
        console.print(f"stopped: {over} of {len(everything)} searches are over", highlight=False)
        return _INTERRUPTED
    return 0 if rows and all(row.is_right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
