"""The manager dies after each of its writes in turn, and a new one takes over: no run is lost, and none comes twice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.job.crashing import crash_points
from tests.golden.scenario import Scenario

CONTROLLERS = ("cronjob", "job")

POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
SHOW = {"snapshot": ["CronJob", "Job"]}
ALL_SUCCEED = {"patch_pods": {"status": True, "type": "strategic", "body": {"status": {"phase": "Succeeded"}}}}


def cron_job(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": POD}}}
    metadata = {"name": "c"}
    spec = {"schedule": "* * * * *", "jobTemplate": template, **spec}
    return {"create": {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec}}


STEPS: dict[str, list[dict[str, Any]]] = {
    "two runs beside each other": [cron_job(), {"sleep": 125}, SHOW],
    "the second is left out while the first runs": [cron_job(concurrencyPolicy="Forbid"), {"sleep": 125}, SHOW],
    "done runs are cleaned up": [
        cron_job(successfulJobsHistoryLimit=1),
        {"sleep": 70},
        ALL_SUCCEED,
        {"sleep": 60},
        ALL_SUCCEED,
        {"sleep": 40},
        SHOW,
    ],
    "suspended before its first run": [cron_job(suspend=True), {"sleep": 125}, SHOW],
}


@pytest.mark.parametrize("name", STEPS)
async def test_a_crash_between_any_two_writes_changes_nothing(name: str) -> None:
    problems, crashes = await crash_points(Scenario("cj_made", STEPS[name], [], ("CronJob", "Job", "Pod")), CONTROLLERS)

    assert not problems, "\n".join(problems)
    assert crashes >= (0 if "suspended" in name else 5)
