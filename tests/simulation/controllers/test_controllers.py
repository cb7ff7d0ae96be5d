"""Every controller of this project comes to the same end, whatever goes wrong on its way there.

Fifty seeds of each are played here, ten in a test, so that they spread over the processes that tests run in. ``make
simulate`` plays a thousand.
"""

from __future__ import annotations

from functools import cache

import pytest

from kinformer.manager import known_controllers
from kinformer.simulation.explore import explore, replay
from kinformer.simulation.plan import Plan
from tests.simulation.controllers.catalogue import CASES, Case
from tests.simulation.worlds import trial_of_case

SEEDS = 50
AT_ONCE = 10
PARTS = [
    (case, range(first, min(first + AT_ONCE, SEEDS // case.share)))
    for case in CASES
    for first in range(0, SEEDS // case.share, AT_ONCE)
]

#: Without a fault a case is played once in each process.
trial_of = cache(trial_of_case)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("case", "seeds"), PARTS, ids=lambda each: f"{each.start}-{each.stop - 1}" if isinstance(each, range) else str(each)
)
def test_whatever_goes_wrong_the_end_is_the_same(case: Case, seeds: range) -> None:
    report = explore(trial_of(case.name), seeds)

    assert report.runs == len(seeds) or not report.is_clean
    assert report.is_clean, str(report.failures[0])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_controllers_have_something_to_do(case: Case) -> None:
    history = trial_of(case.name).undisturbed.history

    assert any(record.what == "write" and record.actor == "manager" for record in history)


@pytest.mark.parametrize(
    ("case", "plan"), [(case, plan) for case in CASES for plan in case.plans], ids=lambda each: str(each)
)
def test_what_once_was_wrong_is_not_wrong_again(case: Case, plan: str) -> None:
    report = replay(trial_of(case.name), Plan.parse(plan))

    assert report.is_clean, str(report.failures[0])


def test_every_controller_is_in_a_case() -> None:
    assert {name for case in CASES for name in case.controllers if ":" not in name} == set(known_controllers())
