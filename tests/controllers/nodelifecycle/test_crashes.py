"""The managers of nodes die after each of their writes in turn, or hear late of what happens: the end is the same."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from tests.controllers.scenarios.replaying import replay_crashed, replay_held_back
from tests.golden.controllers import SCENARIOS
from tests.golden.scenario import Scenario

FILES = [*sorted(SCENARIOS.glob("node_*.json")), *sorted(SCENARIOS.glob("taint_*.json"))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_a_crash_between_any_two_writes_changes_nothing(file: Path) -> None:
    scenario = Scenario.read(file)
    undisturbed = await replay_crashed(scenario, math.inf)
    assert not undisturbed.outcome.problem, undisturbed.outcome.problem
    problems, crashes = [], 0

    for writes in itertools.count(1):
        crash = await replay_crashed(scenario, writes)
        crashes += crash.happened
        if crash.outcome.problem:
            problems.append(f"killed after {writes} writes: {crash.outcome.problem}")
        if not crash.happened:
            break

    assert not problems, "\n".join(problems)
    assert crashes >= 3


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_what_is_heard_of_late_changes_nothing(file: Path) -> None:
    scenario = Scenario.read(file)
    problems, held = [], 0

    for seed in range(4):
        outcome, late = await replay_held_back(scenario, seed, ("pods", "nodes", "leases"))
        held += late.held
        if outcome.problem:
            problems.append(f"seed {seed}: {outcome.problem}")

    assert held, "nothing was held back"
    assert not problems, "\n".join(problems)
