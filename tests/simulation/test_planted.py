"""Each planted mistake is found by one fault, and nothing is found in the twin. ``make simulate`` searches on."""

from __future__ import annotations

import pytest

from kinformer.simulation.explore import systematic
from tests.simulation.planted import LOCAL_TIME, PLANTED, Planted


@pytest.mark.parametrize("planted", [*PLANTED, LOCAL_TIME], ids=str)
def test_a_planted_mistake_is_found_by_one_fault_and_its_twin_clean(planted: Planted) -> None:
    broken, mended = planted.broken(), planted.mended()
    assert broken.undisturbed.is_clean, "it shows without faults"

    (failure,) = systematic(broken, kinds=[planted.kind], shrinking=0).failures
    assert [str(deviation) for deviation in failure.found.deviations] == [planted.found]
    assert failure.violations[0].text == planted.says

    report = systematic(mended, kinds=[planted.kind])
    assert report.is_clean, str(report.failures[0])


def test_there_are_ten_kinds() -> None:
    assert len({planted.name for planted in PLANTED}) == 10
