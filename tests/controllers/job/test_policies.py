"""Policies that make no sense, how long an index waits, and when a pod ended.

What policies mean that make sense is recorded: the golden cases ``job``.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from kinformer_controllers.job.counting import remaining_for_index
from kinformer_controllers.job.intervals import Indexes
from kinformer_controllers.job.pods import finished_at
from kinformer_controllers.job.policies import Verdict, match_failure_policy, success_message
from tests.controllers.job.world import NOW, job_of, pod_of, stamp


def test_a_rule_with_an_action_that_nobody_knows_is_passed_over() -> None:
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    rules = [{"action": action, "onPodConditions": [disrupted]} for action in ("Someday", "Ignore")]

    verdict = match_failure_policy(
        job_of(podFailurePolicy={"rules": rules}), pod_of(status={"conditions": [disrupted]})
    )

    assert verdict == Verdict(None, False, "Ignore")


def test_a_rule_that_asks_for_no_index_is_not_met() -> None:
    job = job_of(completions=5, indexed=True, successPolicy={"rules": [{"succeededIndexes": ""}]})

    assert success_message(job, Indexes.parse("0-2", 5)) is None


def before(seconds: int) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("annotations", "seconds"),
    [
        pytest.param(None, 0, id="no failures"),
        pytest.param({"job-index-failure-count": "2"}, 40, id="two prev failures"),
        pytest.param(
            {"job-index-failure-count": "1", "job-index-ignored-failure-count": "1"},
            40,
            id="one prev failure counted and one ignored",
        ),
        pytest.param({"job-index-failure-count": str(2**31 - 1)}, 600, id="a number that somebody made up"),
    ],
)
def test_an_index_waits_by_all_of_its_failures(annotations: dict[str, str] | None, seconds: float) -> None:
    marks = {f"batch.kubernetes.io/{name}": value for name, value in (annotations or {}).items()}
    last = pod_of("Failed", ended=NOW, annotations=marks) if annotations is not None else None

    assert remaining_for_index(last, NOW) == seconds


def container(name: str, seconds: int) -> dict[str, Any]:
    state = {"terminated": {"exitCode": 1, "finishedAt": stamp(before(seconds))}}
    return {"name": name, "image": "", "imageID": "", "ready": False, "restartCount": 0, "state": state}


@pytest.mark.parametrize(
    ("status", "deleted", "grace", "seconds"),
    [
        pytest.param({}, 3, 2**63 - 1, 2, id="a grace period beyond 292 years wraps around"),
        pytest.param(
            {"containerStatuses": [container("a", 9)], "initContainerStatuses": [container("side", 2)]},
            None,
            0,
            2,
            id="sidecar container and all containers terminated",
        ),
    ],
)
def test_a_pods_end_is_its_last_containers_or_an_estimate(
    status: dict[str, Any], deleted: int | None, grace: int, seconds: int
) -> None:
    pod = pod_of("Failed", status=status)
    pod.metadata.deletion_timestamp = before(deleted) if deleted is not None else None
    pod.metadata.deletion_grace_period_seconds = grace
    sidecar = pod_of().spec.containers[0]
    sidecar.name, sidecar.restart_policy = "side", "Always"
    pod.spec.init_containers = [sidecar]

    assert finished_at(pod) == before(seconds)
