"""The scenarios with quotas, against the embedded server with its plug-in and this project's controllers."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from kinformer.manager import Manager
from kinformer_controllers.replicationcontroller.controller import make_controller as make_replication
from kinformer_controllers.resourcequota.controller import make_controller as make_quota
from tests.controllers.shared.quota.serving import quota_server
from tests.golden.pace import TurnedPace, scenario_clock
from tests.golden.scenario import Scenario, replay

SCENARIOS = Path(__file__).parents[2] / "golden" / "scenarios"
FILES = [*sorted(SCENARIOS.glob("quota_*.json")), SCENARIOS / "rc_quota_refused.json"]

CONTROLLERS = {"replicationcontroller": make_replication, "resourcequota": make_quota}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_this_scenario_settles_as_with_kubernetes_controllers(file: Path) -> None:
    clock = scenario_clock()
    async with quota_server(clock=clock) as (server, client), anyio.create_task_group() as tasks:
        tasks.start_soon(Manager(client, known=CONTROLLERS, clock=clock).run)
        outcome = await replay(Scenario.read(file), server.url, server.token, pace=TurnedPace(clock))
        tasks.cancel_scope.cancel()

    assert not outcome.problem, outcome.problem
