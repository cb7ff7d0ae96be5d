"""Forks: plans with the same seed share what happens before their first deviation.

Until its first deviation, a run is the run of its seed without deviations. So that run is played once for many plans.
At the moment of each plan, the process makes a child by ``fork``. The child takes the plan, plays the rest of the run,
sends a summary, and ends. The parent goes on without the deviation. A child has a copy of all memory, so what it plays
is, byte for byte, what a whole run by its plan would have played.

A fork is not free: the kernel copies each page of memory that the child writes to. That costs a child 20 ms of CPU,
measured on a virtual machine. So a plan is played as a whole if what it would share took less than this costs.

There is no fork on a platform without it, on macOS, whose libraries do not allow it, and in a process with several
threads. A scenario whose processes keep snapshots in files cannot share a run. All plans are then played as a whole,
with the same results.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, NoReturn, TypeVar

from kinformer.simulation.faults import moment_of
from kinformer.simulation.plan import Plan
from kinformer.simulation.trial import Outcome, Trial

__all__ = ("can_share", "play_shared")

T = TypeVar("T")

#: Seconds of CPU: what takes less is not shared.
_WORTH: Final = 0.03


def can_share(trial: Trial) -> bool:
    """Whether plans of a trial may be played by :func:`play_shared`, and it is worth it."""
    return (
        hasattr(os, "fork")
        and sys.platform != "darwin"
        and threading.active_count() == 1
        and trial.is_simulated
        and trial.cost > 2 * _WORTH
    )


def play_shared(
    trial: Trial, plans: Sequence[Plan], summary: Callable[[Outcome], T], *, worth: float = _WORTH
) -> Iterator[T]:
    """
    Play plans with the same seed, and return a summary of each run, in the order of the plans.

    :param trial: the scenario
    :param plans: the plans; all have the same seed
    :param summary: makes the summary of a run; it must be possible to pickle it
    :param worth: seconds of CPU: what takes less is not shared
    :raises ScenarioError: if the run without deviations fails, and not by an assertion
    """
    _ = trial.reference  # made here, and not in each child
    forks = _Forks(plans, worth)
    try:
        outcome = trial.play(Plan(plans[0].seed), fork=forks)
        if forks.answer is not None:
            with os.fdopen(forks.answer, "wb") as pipe:
                pipe.write(pickle.dumps(summary(outcome)))
            forks.end_child(0)
        trial.cost = time.process_time() - forks.began
    except BaseException:
        if forks.answer is not None:
            forks.end_child(1)
        raise
    for number, plan in enumerate(plans):
        sent = forks.sent.get(number)
        yield summary(trial.play(plan)) if sent is None else pickle.loads(sent)


class _Forks:
    """
    Makes children at the moments of plans.

    :ivar began: the time when the run began, by the CPU's clock, later by the time that forks took
    :ivar sent: what the child of each plan has sent, by the plan's number; none if a child has failed
    :ivar answer: in a child, the file descriptor for what it sends; None in the parent
    """

    def __init__(self, plans: Sequence[Plan], worth: float) -> None:
        self.began = time.process_time()
        self.sent: dict[int, bytes] = {}
        self.answer: int | None = None
        self._plans = plans
        self._worth = worth
        self._left = set(range(len(plans)))
        self._at: dict[Hashable, list[int]] = {}
        for number, plan in enumerate(plans):
            for deviation in plan.deviations:
                self._at.setdefault(moment_of(deviation), []).append(number)

    def __call__(self, moments: Sequence[Hashable]) -> Plan | None:
        """
        Make a child for each plan with a deviation at one of these moments.

        :return: in a child, its plan; None in the parent
        """
        for number in (number for moment in moments for number in self._at.get(moment, ())):
            if number not in self._left:
                continue
            self._left.discard(number)  # its next deviations do not come first
            shared = time.process_time() - self.began
            if shared >= self._worth and self._is_child(number):
                return self._plans[number]
            self.began = time.process_time() - shared  # the time for the fork is not shared
        return None

    @staticmethod
    def end_child(status: int) -> NoReturn:
        """End this child without any cleaning up: what is to be cleaned up is the parent's."""
        os._exit(status)

    def _is_child(self, number: int) -> bool:
        reading, writing = os.pipe()
        # Python gives a child another state, and no running loop.
        state, loop = random.getstate(), asyncio.get_running_loop()
        child = os.fork()
        if child == 0:
            os.close(reading)
            asyncio._set_running_loop(loop)
            # Ctrl-C reaches the parent, too, which ends the child.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            random.setstate(state)
            self.answer = writing
            return True
        os.close(writing)
        try:
            with os.fdopen(reading, "rb") as pipe:
                data = pipe.read()
        except BaseException:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        if os.waitpid(child, 0)[1] == 0:
            self.sent[number] = data
        return False
