"""The manager dies after each of its writes in turn, and a new one takes over: what settles is the same."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest

from kinformer.manager import known_controllers
from tests.controllers.scenarios.replaying import replay_crashed
from tests.golden.controllers import cluster_scenarios, workload_scenarios
from tests.golden.scenario import Scenario

#: Takes one crash in so many, where there are hundreds of writes.
STRIDES = {"rc_big": 41}

LEFT_OUT = {
    # Nothing is written.
    "csr_denied",
    "lb_class",
    # Needs admission by quota, which the embedded server of other tests has.
    "rc_quota_refused",
    # Is looked at while a Job backs off, which its successor knows nothing of: it makes the next pod at once.
    "job_failure_policy",
    # Pods that the predecessor deleted after the success count as failed with the successor, as in Kubernetes.
    "job_success_policy",
}

#: What is counted from what a process has seen begins anew with its successor: times to multiply the sleeps by.
LONGER = {"podgc_orphan": 2.0}

KNOWN = known_controllers()
FILES = [file for file in (*workload_scenarios(KNOWN), *cluster_scenarios(KNOWN)) if file.stem not in LEFT_OUT]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_a_crash_between_any_two_writes_changes_nothing_and_makes_no_pod_too_many(file: Path) -> None:
    scenario = Scenario.read(file)
    longer = LONGER.get(file.stem, 1.0)
    steps = [{"sleep": step["sleep"] * longer} if "sleep" in step else step for step in scenario.steps]
    scenario = replace(scenario, steps=steps)
    undisturbed = await replay_crashed(scenario, math.inf)
    assert not undisturbed.outcome.problem, undisturbed.outcome.problem
    problems: list[str] = []
    crashes = 0

    # How many writes there are differs from run to run by a status more or less: go on until none is left to crash at.
    for writes in itertools.count(1, STRIDES.get(file.stem, 1)):
        crash = await replay_crashed(scenario, writes)
        crashes += crash.happened
        if crash.outcome.problem:
            problems.append(f"killed after {writes} writes: {crash.outcome.problem}")
        if crash.created["pods"] > undisturbed.created["pods"]:
            made, want = crash.created["pods"], undisturbed.created["pods"]
            problems.append(f"killed after {writes} writes: {made} pods were made, want {want} at most")
        if not crash.happened:
            break

    assert not problems, "\n".join(problems)
    assert crashes >= 1
