"""Scenarios that were recorded on real clusters come out the same where managers die and hear of things late.

Two seeds of each are played here. ``.ci/run`` plays as many as a few minutes allow, and ``make simulate`` also each
single crash, with the answer to the write delivered and lost.
"""

from __future__ import annotations

import pytest

from kinformer.simulation import Plan
from kinformer.simulation.explore import explore
from tests.simulation.controllers.case import CRASHED_AND_LATE
from tests.simulation.recorded import RECORDED, trial_of_recorded

SEEDS = 2


@pytest.mark.parametrize("name", RECORDED)
def test_crashes_and_late_news_change_nothing_and_make_nothing_twice(name: str) -> None:
    trial = trial_of_recorded(name)
    assert any(record.what == "write" and record.actor == "manager" for record in trial.undisturbed.history)

    report = explore(trial, range(SEEDS), faults=CRASHED_AND_LATE)

    assert report.is_clean, str(report.failures[0])


def test_two_loops_may_taint_a_node_in_either_order() -> None:
    plan = Plan.parse("seed=0 delay(manager,request=8,seconds=5)")

    assert not trial_of_recorded("node_pods_not_ready").play(plan).violations


@pytest.mark.parametrize("seconds", [5, 20])
def test_a_node_seen_late_is_deleted_when_its_instance_is_gone(seconds: int) -> None:
    plan = Plan.parse(f"seed=0 delay(manager,event=1,seconds={seconds})")

    assert not trial_of_recorded("instance_gone").play(plan).violations


@pytest.mark.parametrize(
    "plan",
    [
        "seed=0 delay(manager,event=1,seconds=20)",
        "seed=0 restart(manager,write=1,version=-1)",
        "seed=0 pause(manager,write=1,seconds=300)",
    ],
)
def test_a_namespace_whose_deletion_is_seen_late_is_emptied(plan: str) -> None:
    assert not trial_of_recorded("ns_delete").play(Plan.parse(plan)).violations
