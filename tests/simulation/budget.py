"""A search with a fixed time: seeds of every controller and every recorded scenario in turn, until the time is over.

All begin with the first seeds and go on together, a few seeds of each at a time. So a short run tries all of them, and
a longer one tries each of them more.
"""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache

import structlog

from kinformer.simulation.explore import explore
from kinformer.simulation.faults import Faults
from kinformer.simulation.trial import Trial
from tests.simulation.controllers.case import CRASHED_AND_LATE
from tests.simulation.controllers.catalogue import CASES
from tests.simulation.recorded import RECORDED, trial_of_recorded
from tests.simulation.worlds import trial_of_case

__all__ = ("play_for",)

#: Seeds of one trial that are played together: each process plays the run without faults once more.
_TOGETHER = 4
#: Runs that are spent on making a failure smaller.
_SHRINKING = 100

_CASES = {case.name: case for case in CASES}


@dataclass(frozen=True, slots=True)
class _Task:
    """
    :param name: of a case, or of a recorded scenario
    :param seeds: those to play
    """

    name: str
    is_recorded: bool
    seeds: range


def _tasks(first: int, wants: Callable[[str], bool]) -> Iterator[_Task]:
    """Without end: the next seeds of each trial, round after round."""
    trials = [
        (name, name in RECORDED and is_recorded)
        for is_recorded, names in ((False, _CASES), (True, RECORDED))
        for name in names
        if wants(name)
    ]
    if not trials:
        return
    for begin in itertools.count(first, _TOGETHER):
        for name, is_recorded in trials:
            share = 1 if is_recorded else _CASES[name].share
            seeds = range(begin, begin + max(_TOGETHER // share, 1))
            yield _Task(name, is_recorded, seeds)


@cache
def _trial(name: str, is_recorded: bool) -> tuple[Trial, Faults | None]:
    if is_recorded:
        return trial_of_recorded(name), CRASHED_AND_LATE
    return trial_of_case(name), _CASES[name].faults


def _silent() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def _play(task: _Task) -> tuple[int, list[str]]:
    """How many runs there were, and what failed."""
    trial, faults = _trial(task.name, task.is_recorded)
    report = explore(trial, task.seeds, faults=faults, shrinking=_SHRINKING)
    return report.runs, [f"{task.name}: {failure}" for failure in report.failures]


def play_for(seconds: float, first: int, jobs: int, wants: Callable[[str], bool]) -> int:
    """
    Play until the time is over, and print what came of it.

    :param seconds: of the wall clock; runs that have begun are played to their end
    :param first: the seed to begin with
    :param jobs: in how many processes
    :param wants: says of a name whether it is played
    :return: the status of the process: 0 if something was played and nothing failed
    """
    end, runs, failures = time.monotonic() + seconds, 0, list[str]()
    last = first
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_silent) as pool:
        tasks = _tasks(first, wants)
        waiting = [(task, pool.submit(_play, task)) for task in itertools.islice(tasks, jobs * 2)]
        while waiting:
            task, future = waiting.pop(0)
            played, failed = future.result()
            runs, last = runs + played, max(last, task.seeds.stop - 1)
            failures += failed
            for failure in failed:
                print(failure, flush=True)
            if time.monotonic() < end and not failures:
                waiting += [(task, pool.submit(_play, task)) for task in itertools.islice(tasks, 1)]
    print(f"{runs} runs, seeds {first} to {last}, {len(failures)} failing")
    return 0 if runs and not failures else 1
