"""Jobs and CronJobs whose pods end in many ways: the steps of users and kubelets.

Each goes on until all failures are made up for, so that it settles the same whatever was waited for between.
"""

from __future__ import annotations

from typing import Any

from tests.simulation.controllers.writes import create, patch

__all__ = ("CRON_JOBS", "JOBS")

_POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
_WAIT = {"sleep": 30}
_INDEX = "batch.kubernetes.io/job-completion-index"


def _job(name: str = "j", **spec: Any) -> dict[str, Any]:
    return create("Job", name, "batch/v1", spec={"template": {"spec": _POD}, **spec})


def _end(count: int, phase: str = "Succeeded", **which: Any) -> dict[str, Any]:
    return {"run_pods": {"count": count, "phase": phase, "ready": False, **which}}


def _all_end(phase: str, selector: str = "") -> dict[str, Any]:
    body = {"status": {"phase": phase}}
    patch = {"status": True, "type": "strategic", "body": body}
    return {"patch_pods": {**patch, "selector": selector} if selector else patch}


def _cron_job(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": _POD}}}
    return create("CronJob", "c", "batch/v1", spec={"schedule": "* * * * *", "jobTemplate": template} | spec)


JOBS: dict[str, list[dict[str, Any]]] = {
    "three of which one fails first": [
        _job(completions=3, parallelism=3),
        _WAIT,
        _end(1, "Failed"),
        _WAIT,
        _all_end("Succeeded", selector="job-name=j"),
        _WAIT,
    ],
    "indexed, in two rounds": [
        _job(completions=4, parallelism=2, completionMode="Indexed"),
        _WAIT,
        _all_end("Succeeded", selector=f"{_INDEX} in (0, 1)"),
        _WAIT,
        _all_end("Succeeded", selector=f"{_INDEX} in (2, 3)"),
        _WAIT,
    ],
    "indexed, one index fails for good": [
        _job(completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=2),
        _WAIT,
        _all_end("Failed", selector=f"{_INDEX}=1"),
        _WAIT,
        _all_end("Succeeded", selector=f"{_INDEX} in (0, 2)"),
        _WAIT,
    ],
    "scaled down": [
        _job(completions=6, parallelism=4),
        _WAIT,
        {"patch": {"kind": "Job", "name": "j", "body": {"spec": {"parallelism": 1}}}},
        _WAIT,
    ],
    "goes when its time is over": [
        _job(completions=1, ttlSecondsAfterFinished=5),
        _WAIT,
        _all_end("Succeeded"),
        _WAIT,
    ],
    "a success policy is met where no failure is allowed": [
        _job(
            completions=3,
            parallelism=3,
            completionMode="Indexed",
            backoffLimit=0,
            successPolicy={"rules": [{"succeededIndexes": "0"}]},
        ),
        _WAIT,
        _all_end("Succeeded", selector=f"{_INDEX}=0"),
        _WAIT,
    ],
    "a deadline is over where no failure is allowed": [
        _job(completions=2, parallelism=2, backoffLimit=0, activeDeadlineSeconds=20),
        _WAIT,
    ],
    "a work queue": [
        _job(parallelism=3),
        _WAIT,
        _end(1),
        _WAIT,
        _all_end("Succeeded"),
        _WAIT,
    ],
}

_ALL_SUCCEED = _all_end("Succeeded")

CRON_JOBS: dict[str, list[dict[str, Any]]] = {
    # Minutes between the runs: several answers and events in a row may come 20 seconds late.
    "two runs beside each other": [
        _cron_job(schedule="*/10 * * * *"),
        {"sleep": 1300},
        patch("CronJob", "c", spec={"suspend": True}),
        {"sleep": 100},
    ],
    "the second is left out while the first runs": [_cron_job(concurrencyPolicy="Forbid"), {"sleep": 125}],
    "done runs are cleaned up": [
        _cron_job(schedule="*/10 * * * *", successfulJobsHistoryLimit=1),
        {"sleep": 900},
        _ALL_SUCCEED,
        {"sleep": 500},
        patch("CronJob", "c", spec={"suspend": True}),
        {"sleep": 100},
        _ALL_SUCCEED,
        {"sleep": 40},
    ],
    "suspended before its first run": [_cron_job(suspend=True), {"sleep": 125}],
}
