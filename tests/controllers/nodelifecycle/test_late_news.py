"""The managers of nodes hear late of what happens: the end is the same. That they die is tried with all scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.controllers.scenarios.replaying import replay_held_back
from tests.golden.controllers import SCENARIOS
from tests.golden.scenario import Scenario

FILES = [*sorted(SCENARIOS.glob("node_*.json")), *sorted(SCENARIOS.glob("taint_*.json"))]


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
