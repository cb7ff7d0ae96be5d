"""Plans that share a run by forks end as they do when each is played as a whole, byte for byte."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

from kinformer.simulation import Outcome, Plan, World
from kinformer.simulation.forks import can_share, play_shared
from kinformer.simulation.single import KINDS, single_deviations
from kinformer.simulation.trial import Trial
from tests.simulation.tiny import APP, make_broken, make_mended

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


async def scenario(world: World) -> None:
    """The bug is found by some deviations; there are two versions; random numbers are drawn all the time."""
    world.manager(make_broken, next_controllers=make_mended)
    await world.apply(APP)
    await world.settled()
    await world.apply({**APP, "metadata": {**APP["metadata"], "name": "other"}})
    await world.settled()


def everything(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.plan, tuple(outcome.violations), outcome.history.digest(), outcome.seconds, outcome.counts


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The children that this process makes."""
    made: list[int] = []
    fork = os.fork

    def counting() -> int:
        made.append(0)
        return fork()

    monkeypatch.setattr(os, "fork", counting)
    yield made


def test_every_kind_of_plan_ends_in_a_fork_as_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(scenario)
    plans = [Plan(0, (deviation,)) for deviation in single_deviations(trial.undisturbed, tuple(KINDS), most=1)]
    never = Plan.parse("seed=0 crash(manager,write=99)")

    with counted(monkeypatch) as made:
        shared = list(play_shared(trial, [*plans, never], everything, worth=0.0))

    assert len(made) == len(plans) > 15
    assert shared == [everything(trial.play(plan)) for plan in [*plans, never]]
    assert sum(bool(violations) for _, violations, *_ in shared) > 1


def test_a_plan_whose_child_fails_is_played_again_here(monkeypatch: pytest.MonkeyPatch) -> None:
    trial, here = Trial(scenario), os.getpid()
    plans = [Plan.parse("seed=0 crash(manager,write=1)"), Plan.parse("seed=0 crash(manager,write=2)")]

    def summary(outcome: Outcome) -> tuple[Any, ...]:
        if os.getpid() != here and outcome.plan == plans[0]:
            raise RuntimeError("the child fails")
        return everything(outcome)

    with counted(monkeypatch) as made:
        assert list(play_shared(trial, plans, summary, worth=0.0)) == [everything(trial.play(plan)) for plan in plans]
    assert len(made) == 2


def test_a_child_is_ended_when_its_parent_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[int] = []
    fork, waitpid = os.fork, os.waitpid

    def forked() -> int:
        children.append(fork())
        return children[-1]

    def interrupted(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fork", forked)
    monkeypatch.setattr(os, "fdopen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(play_shared(Trial(scenario), [Plan.parse("seed=0 crash(manager,write=1)")], everything, worth=0.0))

    with pytest.raises(ChildProcessError):
        waitpid(children[0], 0)


def test_nothing_is_shared_beside_threads_or_if_runs_are_short() -> None:
    trial = Trial(scenario)
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert not can_share(trial)
    finally:
        end.set()
        thread.join()

    trial.cost = 0.001
    assert not can_share(trial)
