"""Controllers hear of pods late, by times that chance says. No pod too many is made, and the end is the same."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from kinformer.manager import known_controllers
from tests.controllers.scenarios.replaying import replay_crashed, replay_held_back
from tests.golden.controllers import SCENARIOS, workload_scenarios
from tests.golden.scenario import Scenario

LEFT_OUT = {
    # Needs admission by quota, which the embedded server of other tests has.
    "rc_quota_refused",
    # Is looked at while a Job backs off, which is over by then.
    "job_failure_policy",
}

FILES = [file for file in workload_scenarios(known_controllers()) if file.stem not in LEFT_OUT]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_a_late_watch_of_pods_makes_no_pod_too_many(file: Path) -> None:
    scenario = Scenario.read(file)
    undisturbed = await replay_crashed(scenario, math.inf)
    problems: list[str] = []
    held = 0

    for seed in range(4):
        outcome, late = await replay_held_back(scenario, seed)
        if outcome.problem:
            problems.append(f"seed {seed}: {outcome.problem}")
        if late.created["pods"] > undisturbed.created["pods"]:
            made, want = late.created["pods"], undisturbed.created["pods"]
            problems.append(f"seed {seed}: {made} pods were made, want {want} at most")
        held += late.held

    assert held, "nothing was held back"
    assert not problems, "\n".join(problems)


#: Of the cluster itself, and what is heard of late.
CLUSTER = {
    "gc_background": ("pods", "replicasets"),
    "gc_foreground": ("pods", "replicasets"),
    "ns_delete": ("namespaces", "serviceaccounts"),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CLUSTER)
async def test_what_is_to_go_goes_also_where_it_is_heard_of_late(name: str, seed: int) -> None:
    outcome, late = await replay_held_back(Scenario.read(SCENARIOS / f"{name}.json"), seed, CLUSTER[name])

    assert late.held, "nothing was held back"
    assert not outcome.problem, outcome.problem
