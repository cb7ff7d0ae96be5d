"""A controller whose cache does not show a sign of life destroys nothing."""

from __future__ import annotations

import pytest

from kinformer.simulation.explore import replay
from kinformer.simulation.plan import Plan
from tests.simulation.controllers.behind import BEHIND
from tests.simulation.controllers.case import Case
from tests.simulation.worlds import trial_of_case


@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", BEHIND, ids=str)
def test_nothing_is_destroyed_because_of_what_a_cache_lacks(case: Case) -> None:
    trial = trial_of_case(case.name)

    for plan in case.plans:
        report = replay(trial, Plan.parse(plan))
        assert report.is_clean, str(report.failures[0])
        assert not report.missed
