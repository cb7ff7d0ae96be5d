"""Changes of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.conftest import Http

JOBS = "/apis/batch/v1/namespaces/default/jobs"


async def suspended(http: Http, status: dict[str, Any]) -> Any:
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    await http.create(JOBS, {"metadata": {"name": "j"}, "spec": {"suspend": True, "template": {"spec": pod}}})
    return await http.merge(f"{JOBS}/j/status", {"status": status})


def changed(job: Any, **fields: Any) -> Any:
    pod = {**job["spec"]["template"]["spec"], **fields}
    return {**job, "spec": {**job["spec"], "template": {**job["spec"]["template"], "spec": pod}}}


QUEUED = {"nodeSelector": {"zone": "a"}, "tolerations": [{"operator": "Exists"}], "schedulingGates": [{"name": "a/b"}]}
AFFINITY = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": []}]}}
CONTAINER = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}
STOPPED = {"conditions": [{"type": "Suspended", "status": "True"}], "startTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize("status", [{}, STOPPED])
async def test_a_queue_may_place_a_suspended_job(http: Http, status: dict[str, Any]) -> None:
    job = await suspended(http, status)
    body = changed(job, **QUEUED, affinity={"nodeAffinity": AFFINITY}, containers=[CONTAINER])
    code, answer = await http("PUT", f"{JOBS}/j", body)
    assert code == 200, answer
    pod = answer["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"zone": "a"}
    assert pod["containers"][0]["resources"] == {"limits": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("status", "change", "field"),
    [
        ({}, {"containers": [{**CONTAINER, "image": "other"}]}, "spec.template.spec"),
        ({}, {"affinity": {"podAffinity": {}}}, "spec.template.spec"),
        ({"startTime": "2026-01-01T00:00:00Z"}, QUEUED, "spec.template"),
        ({"active": 1}, QUEUED, "spec.template"),
    ],
)
async def test_nothing_else_of_a_jobs_template_changes(
    http: Http, status: dict[str, Any], change: dict[str, Any], field: str
) -> None:
    job = await suspended(http, status)
    code, answer = await http("PUT", f"{JOBS}/j", changed(job, **change))
    assert (code, [cause["field"] for cause in answer["details"]["causes"]]) == (422, [field])


async def test_a_job_without_a_name_is_refused(http: Http) -> None:
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    code, answer = await http("POST", JOBS, {"metadata": {}, "spec": {"template": {"spec": pod}}})
    assert (code, [cause["field"] for cause in answer["details"]["causes"]]) == (422, ["metadata.name"])
