"""Every scenario, each of its controllers being allowed what it declares and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kinformer.envtest import ApiServer
from kinformer.envtest.admission import AdmissionContext
from kinformer.envtest.loops import WITHOUT_KUBELET
from kinformer.envtest.objects import StoredObjects
from kinformer.manager import known_controllers
from kinformer.manager.loading import builtin_controllers
from kinformer_controllers.shared.quota.admission import QuotaPlugin
from tests.controllers.scenarios.allowed import managers_with_their_permissions, rules_of
from tests.golden.controllers import SCENARIOS, apis_for, controllers_for
from tests.golden.pace import TurnedPace, scenario_clock
from tests.golden.scenario import Scenario, replay

KNOWN = known_controllers()

FILES = [file for file in sorted(SCENARIOS.glob("*.json")) if controllers_for(file.stem, KNOWN)]

#: The server's own time goes on: only then it marks a pod before it removes it, and that is seen.
ITS_OWN_TIME = ("ep_", "eps_")
#: The server enforces quotas.
WITH_QUOTAS = ("quota_", "rc_quota_refused")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_this_scenario_settles_the_same_where_each_controller_may_do_only_what_it_declares(file: Path) -> None:
    clock = scenario_clock()
    enforces = file.stem.startswith(WITH_QUOTAS)
    server = (
        ApiServer()
        if file.stem.startswith(ITS_OWN_TIME)
        else ApiServer(
            clock=clock,
            plugins=not enforces,
            controllers=True if enforces else WITHOUT_KUBELET,
            apis=apis_for(controllers_for(file.stem, KNOWN) or ()),
        )
    )
    async with server:
        if enforces:
            context = AdmissionContext(StoredObjects(server.operations), server.clock)
            server.admission.plugins.append(QuotaPlugin(context))
        rules = {name: rules_of(name) for name in controllers_for(file.stem, KNOWN) or ()}
        async with managers_with_their_permissions(server, rules, clock) as asking:
            outcome = await replay(Scenario.read(file), server.url, server.token, pace=TurnedPace(clock))

    assert not [refusal for transport in asking.values() for refusal in transport.refused]
    assert not outcome.problem, outcome.problem


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


@pytest.mark.parametrize("name", builtin_controllers(KNOWN))
def test_each_built_in_controller_declares_its_permissions(name: str) -> None:
    assert rules_of(name)
