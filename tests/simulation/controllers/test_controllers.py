"""Every controller of this project comes to the same end, whatever goes wrong on its way there.

Two seeds of each case are played here. ``.ci/run`` plays as many as a few minutes allow, and ``make simulate`` all.
"""

from __future__ import annotations

import pytest

from kinformer.manager import known_controllers
from kinformer.simulation.explore import explore, replay
from kinformer.simulation.plan import Plan
from tests.simulation.controllers.case import Case
from tests.simulation.controllers.catalogue import CASES
from tests.simulation.worlds import trial_of_case

SEEDS = 2
#: Nothing is written, and nothing has to be.
IDLE = {"cronjob suspended before its first run"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whatever_goes_wrong_the_end_is_the_same(case: Case) -> None:
    trial = trial_of_case(case.name)
    wrote = any(record.what == "write" and record.actor == "manager" for record in trial.undisturbed.history)
    assert wrote is (case.name not in IDLE), "the controllers have nothing to do"

    # What once was wrong is not wrong again.
    for plan in case.plans:
        again = replay(trial, Plan.parse(plan))
        assert again.is_clean, str(again.failures[0])
        assert not again.missed
    report = explore(trial, range(1 if case.share > 1 else SEEDS), faults=case.faults)
    assert report.is_clean, str(report.failures[0])


def test_every_controller_is_in_a_case() -> None:
    assert {name for case in CASES for name in case.controllers if ":" not in name} == set(known_controllers())
