"""What Kubernetes' controller made of it; and the same with the manager killed after each of its writes in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinformer_controllers.endpointslice.controller import make_controller
from tests.controllers.shared.services.scenarios import SCENARIOS, replay_scenario, replay_with_crashes

KNOWN = {"endpointslice": make_controller}


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("eps_*.json")), ids=lambda file: file.stem)
async def test_this_scenario_settles_as_with_kubernetes_controller(file: Path) -> None:
    outcome = await replay_scenario(file, KNOWN)

    assert not outcome.problem, outcome.problem


@pytest.mark.parametrize("name", ["eps_becomes_ready", "eps_selector_changed", "eps_named_ports"])
async def test_a_crash_after_any_write_changes_nothing_in_the_end(name: str) -> None:
    problems, crashes = await replay_with_crashes(SCENARIOS / f"{name}.json", KNOWN)

    assert not problems, "\n".join(problems)
    assert crashes >= 2
