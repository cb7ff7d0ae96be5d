"""The manager dies after each of its writes in turn, and a new one takes over: each pod is counted once."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.controllers.job.crashing import crash_points, play, without_events
from tests.golden.scenario import Scenario

SCENARIOS = Path(__file__).parents[2] / "golden" / "scenarios"

CONTROLLERS = ("job", "ttl-after-finished")

#: What is recorded does not come out after each crash, for reasons that `tests.simulation.recorded` gives; the same as
#: without a crash does. The other scenarios are among the recorded ones there.
GOLDEN = [SCENARIOS / f"{name}.json" for name in ("job_failure_policy", "job_success_policy")]


def job(name: str = "j", **spec: Any) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    return {
        "create": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"template": {"spec": pod}, **spec},
        }
    }


def end(count: int, phase: str = "Succeeded", **which: Any) -> dict[str, Any]:
    return {"run_pods": {"count": count, "phase": phase, "ready": False, **which}}


def all_end(phase: str, selector: str = "") -> dict[str, Any]:
    body = {"status": {"phase": phase}}
    patch = {"status": True, "type": "strategic", "body": body}
    return {"patch_pods": {**patch, "selector": selector} if selector else patch}


WAIT = {"sleep": 30}
SHOW = {"snapshot": ["Job", "Pod"]}
_INDEX = "batch.kubernetes.io/job-completion-index"

#: Each goes on until all failures are made up for, so that it settles the same whatever was waited for between.
STEPS: dict[str, list[dict[str, Any]]] = {
    "three of which one fails first": [
        job(completions=3, parallelism=3),
        WAIT,
        end(1, "Failed"),
        WAIT,
        all_end("Succeeded", selector="job-name=j"),
        WAIT,
        {"snapshot": ["Job"]},
    ],
    "indexed, in two rounds": [
        job(completions=4, parallelism=2, completionMode="Indexed"),
        WAIT,
        all_end("Succeeded", selector=f"{_INDEX} in (0, 1)"),
        WAIT,
        all_end("Succeeded", selector=f"{_INDEX} in (2, 3)"),
        WAIT,
        SHOW,
    ],
    "indexed, one index fails for good": [
        job(completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=2),
        WAIT,
        all_end("Failed", selector=f"{_INDEX}=1"),
        WAIT,
        all_end("Succeeded", selector=f"{_INDEX} in (0, 2)"),
        WAIT,
        SHOW,
    ],
    "scaled down": [
        job(completions=6, parallelism=4),
        WAIT,
        {"patch": {"kind": "Job", "name": "j", "body": {"spec": {"parallelism": 1}}}},
        WAIT,
        {"snapshot": ["Job"]},
    ],
    "goes when its time is over": [
        job(completions=1, ttlSecondsAfterFinished=5),
        WAIT,
        all_end("Succeeded"),
        WAIT,
        SHOW,
    ],
    "a success policy is met where no failure is allowed": [
        job(
            completions=3,
            parallelism=3,
            completionMode="Indexed",
            backoffLimit=0,
            successPolicy={"rules": [{"succeededIndexes": "0"}]},
        ),
        WAIT,
        all_end("Succeeded", selector=f"{_INDEX}=0"),
        WAIT,
        SHOW,
    ],
    "a deadline is over where no failure is allowed": [
        job(completions=2, parallelism=2, backoffLimit=0, activeDeadlineSeconds=20),
        WAIT,
        SHOW,
    ],
    "a work queue": [
        job(parallelism=3),
        WAIT,
        end(1),
        WAIT,
        all_end("Succeeded"),
        WAIT,
        {"snapshot": ["Job"]},
    ],
}


def scenario(name: str) -> Scenario:
    return Scenario("job_made", STEPS[name], [], ("Job", "Pod"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
async def test_a_crash_between_any_two_writes_of_a_golden_scenario_changes_nothing(file: Path) -> None:
    problems, crashes = await crash_points(without_events(Scenario.read(file)), CONTROLLERS)

    assert not problems, "\n".join(problems)
    assert crashes >= 2


@pytest.mark.parametrize("name", STEPS)
async def test_a_crash_between_any_two_writes_loses_no_pod_and_counts_none_twice(name: str) -> None:
    problems, crashes = await crash_points(scenario(name), CONTROLLERS)

    assert not problems, "\n".join(problems)
    assert crashes >= 4


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", STEPS)
async def test_pods_that_are_seen_late_are_neither_made_nor_counted_twice(name: str, seed: int) -> None:
    want, _, wanted = await play(scenario(name), CONTROLLERS)

    got, _, created = await play(scenario(name), CONTROLLERS, late=random.Random(seed))

    assert got == want
    assert created == wanted
