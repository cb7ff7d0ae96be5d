"""The simulator finds public bugs of operators, says what has happened, and finds nothing in their mended twins.

A bug is looked for here among the faults of the kind that shows it, the last places first, where it mostly is. Its twin
is tried with the plan that was found and with some others. The whole search, with every fault at every place and a
thousand seeds, is ``make simulate``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kinformer.simulation.explore import Failure, replay, systematic
from kinformer.simulation.plan import Plan
from kinformer.simulation.single import single_deviations
from kinformer.simulation.trial import Trial
from tests.simulation.bugs import BUGS
from tests.simulation.bugs.base import Bug
from tests.simulation.worlds import trial_of_bug

MODULES = sorted(Path(__file__).parent.joinpath("bugs").glob("*_*[0-9].py"))

#: How many faults of each kind a twin is tried with.
FEW = 1


def found_from_the_end(trial: Trial, bug: Bug) -> Failure | None:
    """The last single fault of a kind at which the bug shows."""
    for deviation in reversed(single_deviations(trial.undisturbed, (bug.found_by,))):
        for failure in replay(trial, Plan(0, (deviation,))).failures:
            if bug.says in str(failure):
                return failure
    return None


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_a_public_bug_is_found_by_one_fault_and_its_twin_clean(bug: Bug) -> None:
    broken, mended = trial_of_bug(str(bug), is_mended=False), trial_of_bug(str(bug), is_mended=True)
    assert broken.undisturbed.is_clean, "it shows without faults"

    failure = found_from_the_end(broken, bug)

    assert failure is not None
    assert str(failure.plan.deviations[0]) in str(failure)
    assert replay(mended, failure.plan).is_clean
    report = systematic(mended, most=FEW)
    assert report.runs > FEW
    assert report.is_clean, report.failures[0].summary


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.stem)
def test_an_operator_has_fewer_than_sixty_lines_and_names_the_public_report(file: Path) -> None:
    text = file.read_text()
    code = text[text.index("class Broken") : text.index("async def scenario")]

    assert len(code.splitlines()) < 60
    assert text.startswith('"""' + next(bug.issue for bug in BUGS if bug.broken.__module__.endswith(file.stem)))


def test_each_bug_is_in_a_module_of_its_own() -> None:
    assert len(MODULES) == len(BUGS) >= 12
