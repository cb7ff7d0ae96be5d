"""Each built-in controller declares what it may do, and has no other permissions.

With these permissions the golden scenarios are replayed: ``tests/golden/test_scenarios.py``. Controllers without a
golden scenario are tried here, with the steps that they have in the simulator.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from kinformer.envtest import ApiServer
from kinformer.envtest.loops import WITHOUT_KUBELET
from kinformer.manager import known_controllers
from kinformer.manager.loading import builtin_controllers
from tests.controllers.scenarios.allowed import managers_with_their_permissions, rules_of
from tests.golden.controllers import SCENARIOS, apis_for
from tests.golden.pace import TurnedPace, scenario_clock
from tests.golden.scenario import Scenario, replay
from tests.simulation.controllers.catalogue import CASES

KNOWN = known_controllers()


async def test_a_permission_that_is_not_declared_is_not_had() -> None:
    clock = scenario_clock()
    async with ApiServer(clock=clock, controllers=WITHOUT_KUBELET) as server:
        rules = {
            "replicaset": [replace(rule, verbs=(*(set(rule.verbs) - {"create"}),)) for rule in rules_of("replicaset")]
        }
        async with managers_with_their_permissions(server, rules, clock) as asking:
            scenario = Scenario.read(SCENARIOS / "rs_create.json")
            outcome = await replay(scenario, server.url, server.token, pace=TurnedPace(clock))

    assert outcome.problem
    assert any("cannot create resource" in refusal for refusal in asking["replicaset"].refused)


def test_each_built_in_controller_declares_its_permissions() -> None:
    assert [name for name in builtin_controllers(KNOWN) if not rules_of(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "clusterrole-aggregation",
        "csrcleaner",
        "nodeipam",
        "persistentvolume-expander",
        "podgroup-protection",
        "resourcepoolstatusrequest",
        "selinux-warning",
    ],
)
async def test_a_controller_without_a_recording_declares_all_that_it_asks_for(name: str) -> None:
    [case] = [case for case in CASES if case.name == name]
    clock = scenario_clock()
    async with ApiServer(clock=clock, controllers=WITHOUT_KUBELET, apis=apis_for(case.controllers)) as server:
        rules = {each: rules_of(each) for each in case.controllers}
        async with managers_with_their_permissions(server, rules, clock, case.options) as asking:
            outcome = await replay(Scenario(name, [*case.steps], []), server.url, server.token, pace=TurnedPace(clock))

    assert not outcome.problem, outcome.problem
    assert not [refusal for transport in asking.values() for refusal in transport.refused]
    # No volume is deleted here, so only the informers of its protection ask for anything.
    assert {user for user, transport in asking.items() if not transport.asked} <= {"pv-protection"}
