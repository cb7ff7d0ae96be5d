"""What the server makes of a Job, and what it refuses in the status of one, as kube-apiserver words it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.conftest import Http

JOBS = "/apis/batch/v1/namespaces/default/jobs"
START, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
INDEXED = {"completionMode": "Indexed", "completions": 5, "parallelism": 3}
GIVEN = {"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"}


def conditions(*types: str) -> list[dict[str, str]]:
    return [{"type": each, "status": "True"} for each in types]


def template(**metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}


COMPLETE = {
    "startTime": START,
    "completionTime": LATER,
    "conditions": conditions("Complete", "SuccessCriteriaMet"),
}
FAILED = {"startTime": START, "conditions": conditions("Failed", "FailureTarget")}
_INVALID = "Invalid value: "
_TOO_EARLY = "cannot set completionTime when there is no Complete=True condition"
_UNMET = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
_UNCOUNTED = '{"Succeeded":null,"Failed":["a"]}: must be empty for finished job'

REFUSED: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[str]]] = [
    ({}, {}, {"ready": 1}, [f"status.ready: {_INVALID}1: cannot set more ready pods than active"]),
    ({}, {}, {"terminating": -1}, [f"status.terminating: {_INVALID}-1: must be greater than or equal to 0"]),
    (
        {},
        {"failed": 2, "succeeded": 2},
        {"failed": 1, "succeeded": 1},
        [
            f"status.failed: {_INVALID}1: cannot decrease the failed counter",
            f"status.succeeded: {_INVALID}1: cannot decrease the succeeded counter",
        ],
    ),
    (
        {},
        {"startTime": START},
        {"startTime": LATER},
        [f'status.startTime: {_INVALID}"{LATER}": field is immutable for unsuspended job once set'],
    ),
    (
        {},
        {},
        {"completionTime": START},
        [f'status.completionTime: {_INVALID}"{START}": {_TOO_EARLY}'],
    ),
    (
        {},
        {},
        {"conditions": conditions("Complete")},
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            f"status.conditions: {_INVALID}{_UNMET}",
            "status.startTime: Required value: startTime is required for finished job",
        ],
    ),
    (
        {},
        {},
        {**COMPLETE, "startTime": LATER, "completionTime": START},
        [f'status.completionTime: {_INVALID}"{START}": must be equal to or after `startTime`'],
    ),
    (
        {},
        COMPLETE,
        {"conditions": conditions("Complete")},
        [
            f"status.conditions: {_INVALID}{_UNMET}",
            f"status.conditions: {_INVALID}cannot disable the SuccessCriteriaMet=True condition",
        ],
    ),
    ({}, COMPLETE, {"completionTime": START}, [f'status.completionTime: {_INVALID}"{START}": field is immutable']),
    ({}, FAILED, {"active": 2}, [f"status.active: {_INVALID}2: active>0 is invalid for finished job"]),
    ({}, FAILED, {"terminating": 2}, [f"status.terminating: {_INVALID}2: terminating>0 is invalid for finished job"]),
    (
        {},
        FAILED,
        {"conditions": conditions("FailureTarget")},
        [f"status.conditions: {_INVALID}cannot disable the terminal Failed=True condition"],
    ),
    (
        {},
        {},
        {"startTime": START, "conditions": conditions("Failed")},
        [f"status.conditions: {_INVALID}cannot set Failed=True condition without the FailureTarget=true condition"],
    ),
    (
        {},
        {},
        {**FAILED, "uncountedTerminatedPods": {"failed": ["a"]}},
        [
            f"status.uncountedTerminatedPods: {_INVALID}{_UNCOUNTED}",
        ],
    ),
    (
        {},
        {},
        {"uncountedTerminatedPods": {"failed": ["a", ""], "succeeded": ["a"]}},
        [
            'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
            f'status.uncountedTerminatedPods.failed[1]: {_INVALID}"": must not be empty',
        ],
    ),
    *(
        (
            INDEXED,
            {},
            {"completedIndexes": given},
            [f'status.completedIndexes: {_INVALID}"{given}": error parsing completedIndexes: {why}'],
        )
        for given, why in [
            ("3-1", "non-increasing order, previous: 3, current: 1"),
            ("2,1", "non-increasing order, previous: 2, current: 1"),
            ("x", 'cannot convert string to integer for index: "x"'),
            ("0-9", 'too large index: "9"'),
        ]
    ),
    (
        {**INDEXED, "backoffLimitPerIndex": 1},
        {},
        {"completedIndexes": "0,2-3", "failedIndexes": "1,3-4"},
        [f'status.failedIndexes: {_INVALID}"1,3-4": failedIndexes and completedIndexes overlap at index: 3'],
    ),
    (
        INDEXED,
        {},
        {"failedIndexes": "1"},
        [f'status.failedIndexes: {_INVALID}"1": cannot set non-null failedIndexes when backoffLimitPerIndex is null'],
    ),
]


@pytest.mark.parametrize(("spec", "before", "status", "why"), REFUSED)
async def test_a_status_that_no_job_can_have_is_refused(
    http: Http, spec: dict[str, Any], before: dict[str, Any], status: dict[str, Any], why: list[str]
) -> None:
    await http.create(JOBS, {"metadata": {"name": "j"}, "spec": {"template": template(), **spec}})
    await http.merge(f"{JOBS}/j/status", {"status": before})

    code, refusal = await http("PATCH", f"{JOBS}/j/status", {"status": status}, "application/merge-patch+json")

    assert code == 422, refusal
    assert [f"{each['field']}: {each['message']}" for each in refusal["details"]["causes"]] == why


async def test_a_shrinking_or_suspended_job_may_take_back_status_fields(http: Http) -> None:
    elastic = {**INDEXED, "parallelism": 5, "template": template()}
    await http.create(JOBS, {"metadata": {"name": "elastic"}, "spec": elastic})
    await http.create(JOBS, {"metadata": {"name": "still"}, "spec": {"suspend": True, "template": template()}})

    for name, first, then in [
        ("elastic", {"succeeded": 3}, {"succeeded": 1}),
        ("still", {"startTime": START}, {"startTime": None}),
    ]:
        await http.merge(f"{JOBS}/{name}/status", {"status": first})
        await http.merge(f"{JOBS}/{name}/status", {"status": then})


@pytest.mark.parametrize(
    ("own", "of_pods", "labels"),
    [
        ({}, {}, GIVEN),
        ({}, {"app": "a"}, {"app", *GIVEN}),
        ({"x": "y"}, {}, {"x"}),
        ({"x": "y"}, {"app": "a"}, {"x"}),
        ({"app": "a"}, {"app": "a"}, {"app"}),
    ],
)
async def test_a_job_without_labels_takes_those_of_its_pods(
    http: Http, own: dict[str, str], of_pods: dict[str, str], labels: set[str]
) -> None:
    job = {"metadata": {"name": "j", "labels": own}, "spec": {"template": template(labels=of_pods)}}

    created = await http.create(JOBS, job)

    assert set(created["metadata"]["labels"]) == labels
    assert set(created["spec"]["template"]["metadata"]["labels"]) == {*of_pods, *GIVEN}
