"""The manager dies after one of its writes, and a new one takes over: what settles is what was recorded.

Some crashes of each scenario are played here, evenly spread over its writes. ``make simulate`` plays each one, with the
answer to the write delivered and lost.
"""

from __future__ import annotations

import pytest

from kinformer.simulation.explore import replay
from tests.simulation.recorded import RECORDED, crashes, trial_of_recorded

#: Of each scenario.
CRASHES = 10

#: Each run takes a second.
FEWER = {"rc_big": 3}


@pytest.mark.parametrize("name", RECORDED)
def test_a_crash_between_two_writes_changes_nothing_and_nothing_is_made_twice(name: str) -> None:
    trial = trial_of_recorded(name)
    assert trial.undisturbed.is_clean, trial.undisturbed.violations
    plans = crashes(trial, FEWER.get(name, CRASHES))

    failures = [failure.summary for plan in plans for failure in replay(trial, plan).failures]

    assert plans, "nothing is written"
    assert not failures, "\n".join(failures)
