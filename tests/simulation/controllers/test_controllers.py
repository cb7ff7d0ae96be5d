"""Every controller of this project comes to the same end, whatever goes wrong on its way there.

A few seeds of each are played here. ``make simulate`` plays a thousand.
"""

from __future__ import annotations

import pytest

from kinformer.manager import known_controllers
from kinformer.simulation.explore import explore, replay
from kinformer.simulation.plan import Plan
from tests.simulation.controllers.catalogue import CASES, Case
from tests.simulation.worlds import trial_of_case

SEEDS = 5


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whatever_goes_wrong_the_end_is_the_same(case: Case) -> None:
    trial = trial_of_case(case.name)
    written = [record for record in trial.undisturbed.history if record.what == "write" and record.actor == "manager"]

    report = explore(trial, range(SEEDS // case.share))

    assert written, "the controllers have nothing to do"
    assert report.is_clean, str(report.failures[0])


@pytest.mark.parametrize(
    ("case", "plan"), [(case, plan) for case in CASES for plan in case.plans], ids=lambda each: str(each)
)
def test_what_once_was_wrong_is_not_wrong_again(case: Case, plan: str) -> None:
    report = replay(trial_of_case(case.name), Plan.parse(plan))

    assert report.is_clean, str(report.failures[0])


def test_every_controller_is_in_a_case() -> None:
    assert {name for case in CASES for name in case.controllers} == set(known_controllers())
