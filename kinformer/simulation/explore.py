"""Exploration: many runs of one scenario, one for each seed or for each single deviation.

:func:`explore` runs a scenario once for each seed, with random faults. :func:`systematic` runs it once for each single
deviation that is possible in the run without faults: every crash point, every hidden event, restarts on earlier
versions, as Sieve does, and every write of the user while a process is away. If an oracle reports a violation, the plan
of the run is reduced to the fewest deviations. The result is a :class:`Failure`, whose plan plays the run again.

The result is the same with any number of processes: runs are judged in the order of their seeds.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice

from kinformer.simulation.faults import Faults
from kinformer.simulation.forks import can_share, play_shared
from kinformer.simulation.history import History
from kinformer.simulation.oracles import Violation
from kinformer.simulation.plan import Deviation, Plan
from kinformer.simulation.shrink import shrink
from kinformer.simulation.single import USUAL_KINDS, single_deviations
from kinformer.simulation.timeline import text_timeline
from kinformer.simulation.trial import Outcome, Trial

__all__ = ("Failure", "NotShareable", "Report", "Run", "explore", "replay", "systematic")


class NotShareable(TypeError):
    """A scenario cannot be sent to other processes."""


@dataclass(frozen=True, slots=True)
class Run:
    """
    A summary of one run.

    :param plan: the plan with all deviations that happened
    :param oracles: the names of the oracles that reported violations
    :param seconds: the virtual time that it took
    :param records: the number of records in its history
    """

    plan: Plan
    oracles: frozenset[str] = frozenset()
    seconds: float = 0.0
    records: int = 0

    @classmethod
    def of(cls, outcome: Outcome) -> Run:
        oracles = frozenset(violation.oracle for violation in outcome.violations)
        return cls(outcome.plan, oracles, outcome.seconds, len(outcome.history))


@dataclass(frozen=True)
class Failure:
    """
    A plan under which something is wrong.

    :param plan: the smallest plan that fails
    :param violations: what is wrong
    :param history: what happened in the run of this plan
    :param found: the plan that failed first
    :param tries: how many plans were played to make it smaller
    """

    plan: Plan
    violations: Sequence[Violation]
    history: History
    found: Plan
    tries: int = 0

    @property
    def summary(self) -> str:
        """What is wrong, and the plan."""
        count = len(self.violations)
        lines = [
            "Something is wrong without any fault:"
            if not self.plan.deviations and not self.found.deviations
            else f"{count} thing{' is' if count == 1 else 's are'} wrong under this plan:",
            "",
            f"    {self.plan}",
            "",
            *(f"  {violation}" for violation in self.violations[:10]),
        ]
        if count > 10:
            lines.append(f"  … and {count - 10} more")
        if self.found != self.plan:
            lines += ["", f"Found as {self.found} ({self.tries} runs made it smaller)."]
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.summary}\n\n{text_timeline(self.history.records, self.violations)}"


@dataclass
class Report:
    """
    The result of an exploration.

    :param runs: the number of runs
    :param failing: the number of runs with violations
    :param failures: the different failures, each with its smallest plan
    :param seconds: the virtual time of all runs together
    :param records: the number of records of all runs together
    :param happened: how often each kind of deviation happened
    :param failed: in how many runs each oracle reported violations
    :param missed: the deviations of a plan that was played again that did not happen
    """

    runs: int = 0
    failing: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    records: int = 0
    happened: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    missed: Sequence[Deviation] = ()

    @property
    def is_clean(self) -> bool:
        return not self.failures

    def add(self, run: Run) -> None:
        """Count a run."""
        self.runs += 1
        self.failing += bool(run.oracles)
        self.seconds += run.seconds
        self.records += run.records
        self.happened.update(type(deviation).__name__ for deviation in run.plan.deviations)
        self.failed.update(run.oracles)


OnRun = Callable[[Run], object]
"""A function that is called for each run, in the order of the seeds."""


def explore(
    trial: Trial,
    seeds: Iterable[int],
    *,
    faults: Faults | None = None,
    jobs: int = 1,
    stop_after: int = 1,
    shrinking: int = 400,
    on_run: OnRun | None = None,
) -> Report:
    """
    Play a scenario once for each seed, with random faults.

    :param trial: the scenario
    :param seeds: the seeds
    :param faults: how often each kind of fault happens; the defaults of :class:`Faults` if None
    :param jobs: the number of processes
    :param stop_after: end after so many different failures
    :param shrinking: the most runs for making one failure smaller
    :param on_run: called for each run
    :raises ScenarioError: if the scenario fails without any fault, and not by an assertion
    :raises NotShareable: if there are several processes, and the scenario cannot be imported in them
    """
    plans = ((Plan(seed), faults or Faults()) for seed in seeds)
    return _explore(trial, plans, jobs, stop_after, shrinking, on_run)


def systematic(
    trial: Trial,
    *,
    kinds: Sequence[str] = USUAL_KINDS,
    most: int | None = None,
    jobs: int = 1,
    stop_after: int = 1,
    shrinking: int = 400,
    on_run: OnRun | None = None,
) -> Report:
    """
    Play a scenario once for each single deviation that is possible in it.

    :param trial: the scenario
    :param kinds: the kinds of deviations: keys of :data:`~kinformer.simulation.single.KINDS`
    :param most: the most deviations of each kind, evenly spread; all if None
    :param jobs: the number of processes
    :param stop_after: end after so many different failures
    :param shrinking: the most runs for making one failure smaller
    :param on_run: called for each run
    :raises ScenarioError: if the scenario fails without any fault, and not by an assertion
    :raises NotShareable: if there are several processes, and the scenario cannot be imported in them
    :raises ValueError: if a kind is not known
    """
    deviations = single_deviations(trial.undisturbed, kinds, most)
    plans = ((Plan(0, (deviation,)), None) for deviation in deviations)
    return _explore(trial, plans, jobs, stop_after, shrinking, on_run)


def replay(trial: Trial, plan: Plan) -> Report:
    """
    Play one plan. A failure is not made smaller.

    :raises ScenarioError: if the scenario fails without any fault, and not by an assertion
    """
    report = Report()
    outcome = trial.play(plan)
    report.add(Run.of(outcome))
    report.missed = [each for each in plan.deviations if each not in outcome.plan.deviations]
    if not outcome.is_clean:
        report.failures.append(Failure(plan, outcome.violations, outcome.history, plan))
    return report


_Task = tuple[Plan, Faults | None]


def _explore(
    trial: Trial, tasks: Iterable[_Task], jobs: int, stop_after: int, shrinking: int, on_run: OnRun | None
) -> Report:
    report = Report()
    first = trial.undisturbed
    if not first.is_clean:
        # The run without faults fails, so every other run would fail, too.
        report.add(Run.of(first))
        report.failures.append(Failure(first.plan, first.violations, first.history, first.plan))
        return report
    with _runner(trial, jobs) as runs:
        for run in runs(tasks):
            report.add(run)
            if on_run is not None:
                on_run(run)
            if not run.oracles or any(_is_like(failure, run) for failure in report.failures):
                continue
            report.failures.append(_shrunk(trial, run, shrinking))
            if len(report.failures) >= stop_after:
                break
    return report


def _is_like(failure: Failure, run: Run) -> bool:
    """Whether a run looks like a known failure: the same oracle, and all kinds of faults of that failure."""
    kinds = {type(deviation) for deviation in failure.plan.deviations}
    return kinds <= {type(deviation) for deviation in run.plan.deviations} and not run.oracles.isdisjoint(
        violation.oracle for violation in failure.violations
    )


def _shrunk(trial: Trial, run: Run, most: int) -> Failure:
    """The failure of a run, with the smallest plan that is found in `most` runs."""

    def fails(plan: Plan) -> bool:
        return not run.oracles.isdisjoint(violation.oracle for violation in trial.play(plan).violations)

    found = shrink(run.plan, fails, most=most)
    last = trial.play(found.plan)
    return Failure(found.plan, last.violations, last.history, run.plan, found.tries)


# -- several processes ------------------------------------------------------------------------------------------------

_AT_ONCE = 8
#: Plans that share a run. If one of them fails, the others have been played in vain.
_TOGETHER = 32
_trial: Trial | None = None


def _begin(pickled: bytes) -> None:
    global _trial
    # Ctrl-C reaches all processes of a terminal. Only the main process handles it, and ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _trial = pickle.loads(pickled)
    # Each process makes the reference itself. This costs one run, and only the scenario has to be sent.
    assert _trial is not None
    _ = _trial.reference


def _play_here(tasks: list[_Task]) -> list[Run]:
    assert _trial is not None
    return list(_play(_trial, tasks))


def _play(trial: Trial, tasks: Iterable[_Task]) -> Iterator[Run]:
    """Play plans in this process. Those without random faults share what happens before their first deviation."""
    for (_, is_random), group in groupby(tasks, key=lambda task: (task[0].seed, task[1] is not None)):
        while not is_random and can_share(trial) and (together := list(islice(group, _TOGETHER))):
            yield from play_shared(trial, [plan for plan, _ in together], Run.of)
        yield from (Run.of(trial.play(plan, faults)) for plan, faults in group)


@contextmanager
def _runner(trial: Trial, jobs: int) -> Iterator[Callable[[Iterable[_Task]], Iterator[Run]]]:
    """A function that plays plans, here or in `jobs` processes, and returns their runs in the plans' order."""
    if jobs <= 1:
        yield partial(_play, trial)
        return
    try:
        pickled = pickle.dumps(Trial(trial.scenario, trial.checks, trial.options, trial.runs))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise NotShareable(f"several processes need a scenario that can be imported: {error}") from error
    # A forked process would have the locks of this one's threads, but not the threads that release them.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(pickled,))
    try:
        yield partial(_in_order, pool, jobs)
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(pool: ProcessPoolExecutor, jobs: int, tasks: Iterable[_Task]) -> Iterator[Run]:
    """Submit only as many plans as keep all processes busy: the first failure may end the exploration."""
    left = iter(tasks)
    batches: Iterator[list[_Task]] = iter(lambda: list(islice(left, _AT_ONCE)), [])
    waiting = [pool.submit(_play_here, batch) for batch in islice(batches, jobs * 2)]
    while waiting:
        try:
            yield from waiting.pop(0).result()
        except BrokenProcessPool as error:
            raise NotShareable(
                "a process that was to play the scenario has ended: can it be imported there?"
            ) from error
        waiting += [pool.submit(_play_here, batch) for batch in islice(batches, 1)]
