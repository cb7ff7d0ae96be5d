"""How Jobs end: by their deadline, their policies, and the limits of their indexes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.client.errors import Forbidden
from kinformer.models import V1Pod
from tests.controllers.job.world import NOW, World, job_of, pod_of, stamp
from tests.controllers.objects import forbidden

FAILURES = "batch.kubernetes.io/job-index-failure-count"
MANY = 2**31 - 1
AGO = {"status": {"startTime": stamp(NOW - timedelta(seconds=15))}}
LIMIT = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")
DONE = ("CompletionsReached", "Reached expected number of succeeded pods")
FAILED_INDEXES = ("FailedIndexes", "Job has failed indexes")
MAX_FAILED = ("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
SUCCESS = ("SuccessPolicy", "Matched rules at index 0")


def pod(
    phase: str = "Failed",
    index: int | None = None,
    *,
    failures: int | None = None,
    code: int | None = None,
    condition: str = "",
    init: bool = False,
    **rest: Any,
) -> V1Pod:
    """
    :param failures: of its index before it
    :param code: with which its container has ended
    :param condition: a type that is true, or ``Type=Status``
    """
    status: dict[str, Any] = {}
    if code is not None:
        state = {"terminated": {"exitCode": code, "finishedAt": stamp(NOW - timedelta(hours=1))}}
        states = [{"name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 0, "state": state}]
        status["initContainerStatuses" if init else "containerStatuses"] = states
    if condition:
        type_, _, value = condition.partition("=")
        status["conditions"] = [{"type": type_, "status": value or "True"}]
    marks = {FAILURES: str(failures)} if failures is not None else None
    return pod_of(phase, index=index, annotations=marks, status=status, **rest)


def policy(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": list(rules)}, "podReplacementPolicy": "Failed"}


def on_codes(action: str, *codes: int, operator: str = "In", **rest: Any) -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(codes), **rest}}


def on_condition(action: str, type_: str = "DisruptionTarget", status: str = "True") -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": type_, "status": status}]}


def succeeds(**rule: Any) -> dict[str, Any]:
    return {"successPolicy": {"rules": [rule]}}


def met(why: tuple[str, str] = SUCCESS) -> dict[str, Any]:
    return _conditions("SuccessCriteriaMet", why)


def target(why: tuple[str, str]) -> dict[str, Any]:
    return _conditions("FailureTarget", why)


def _conditions(type_: str, why: tuple[str, str]) -> dict[str, Any]:
    condition = {"type": type_, "status": "True", "reason": why[0], "message": why[1]}
    return {"status": {"conditions": [condition], "startTime": stamp(NOW)}}


def met_by(why: tuple[str, str]) -> tuple[tuple[str, str, str], ...]:
    return (("SuccessCriteriaMet", *why),)


def failing(why: tuple[str, str]) -> tuple[tuple[str, str, str], ...]:
    return (("FailureTarget", *why),)


def failed(why: tuple[str, str]) -> tuple[tuple[str, str, str], ...]:
    return (*failing(why), ("Failed", *why))


def complete(why: tuple[str, str] = SUCCESS) -> tuple[tuple[str, str, str], ...]:
    return (*met_by(why), ("Complete", *why))


def by_code(code: int = 5, name: str = "main", pod_name: str = "p", rule: int = 0) -> tuple[str, str]:
    where = f"Container {name} for pod ns/{pod_name} failed with exit code {code}"
    return "PodFailurePolicy", f"{where} matching FailJob rule at index {rule}"


_TWO = {"parallelism": 2, "completions": 2, "indexed": True}
_PER_INDEX = {**_TWO, "backoff_limit": MANY, "backoffLimitPerIndex": 1}
_NOW = {"status": {"startTime": stamp(NOW)}}
_FAIL_ON_FIVE = policy(on_codes("FailJob", 5))

#: Per case: the Job, its pods, and what the status says: conditions and counts.
CASES: dict[str, tuple[dict[str, Any], list[V1Pod], tuple[tuple[str, str, str], ...], dict[str, Any]]] = {
    # activeDeadlineSeconds
    "activeDeadlineSeconds exceeded with an active pod": (
        {"activeDeadlineSeconds": 10, **AGO},
        [pod("Running")],
        failing(DEADLINE),
        {"failed": 1, "terminating": 1},
    ),
    "activeDeadlineSeconds exceeded; one pod succeeded": (
        {"completions": 2, "activeDeadlineSeconds": 10, **AGO},
        [pod("Running"), pod("Succeeded")],
        failing(DEADLINE),
        {"failed": 1, "succeeded": 1, "terminating": 1},
    ),
    "activeDeadlineSeconds times-out before any pod starts": (
        {"activeDeadlineSeconds": 15, **AGO},
        [],
        failed(DEADLINE),
        {},
    ),
    "activeDeadlineSeconds with backofflimit reach": (
        {"activeDeadlineSeconds": 1, "backoff_limit": 0, **AGO},
        [pod()],
        failed(LIMIT),
        {"failed": 1},
    ),
    "activeDeadlineSeconds is not triggered when Job is suspended": (
        {"activeDeadlineSeconds": 10, "suspend": True, **AGO},
        [],
        (("Suspended", "JobSuspended", "Job suspended"),),
        {},
    ),
    # podFailurePolicy
    "default handling for pod failure if the container matching the exit codes does not match the containerName": (
        {"backoff_limit": 0, **policy(on_codes("FailJob", 5, containerName="other"))},
        [pod(code=5, name="p")],
        failed(LIMIT),
        {"failed": 1},
    ),
    "running pod should not result in job fail based on OnExitCodes": (
        {"backoff_limit": 0, **_FAIL_ON_FIVE},
        [pod("Running", code=5)],
        (),
        {"active": 1},
    ),
    "fail job based on OnExitCodes": (
        {"backoff_limit": 6, **_FAIL_ON_FIVE},
        [pod(code=5, name="p")],
        failed(by_code()),
        {"failed": 1},
    ),
    "job marked already as failure target with failed pod": (
        {**_FAIL_ON_FIVE, **target(by_code())},
        [pod(code=5, name="p")],
        failed(by_code()),
        {"failed": 1},
    ),
    "job marked already as failure target with failed pod, message based on already deleted pod": (
        {**_FAIL_ON_FIVE, **target(by_code(pod_name="gone"))},
        [pod(code=5, name="p")],
        failed(by_code(pod_name="gone")),
        {"failed": 1},
    ),
    "fail job with multiple pods": (
        {"parallelism": 2, "completions": 2, **_FAIL_ON_FIVE},
        [pod("Running"), pod(code=5, name="p")],
        failing(by_code()),
        {"failed": 2, "terminating": 1},
    ),
    "fail indexed job based on OnExitCodes": (
        {"completions": 1, "indexed": True, **_FAIL_ON_FIVE},
        [pod(index=0, code=5, name="p")],
        failed(by_code()),
        {"failed": 1},
    ),
    "fail job based on OnExitCodes with NotIn operator": (
        policy(on_codes("FailJob", 1, 2, operator="NotIn")),
        [pod(code=42, name="p")],
        failed(by_code(42)),
        {"failed": 1},
    ),
    "default handling job based on OnExitCodes with NotIn operator": (
        policy(on_codes("FailJob", 1, 42, operator="NotIn")),
        [pod(code=42)],
        (),
        {"failed": 1, "active": 1},
    ),
    "fail job based on OnExitCodes for InitContainer": (
        _FAIL_ON_FIVE,
        [pod(code=5, name="p", init=True)],
        failed(by_code()),
        {"failed": 1},
    ),
    "ignore pod failure; both rules are matching, the first is executed only": (
        {"backoff_limit": 0, **policy(on_condition("Ignore"), on_codes("FailJob", 5))},
        [pod(code=5, condition="DisruptionTarget")],
        (),
        {"active": 1},
    ),
    "ignore pod failure based on OnExitCodes": (
        {"backoff_limit": 0, **policy(on_codes("Ignore", 1, 2, 3))},
        [pod(code=1)],
        (),
        {"active": 1},
    ),
    "default job based on OnExitCodes": (
        {"backoff_limit": 0, **policy(on_codes("Ignore", 1, 2, 3))},
        [pod(code=10)],
        failed(LIMIT),
        {"failed": 1},
    ),
    "count pod failure based on OnExitCodes; both rules are matching, the first is executed only": (
        policy(on_codes("Count", 1, 2), on_codes("Ignore", 2, 3)),
        [pod(code=2)],
        (),
        {"failed": 1, "active": 1},
    ),
    "count pod failure based on OnPodConditions; both rules are matching, the first is executed only": (
        policy(on_condition("Count"), on_codes("Ignore", 2)),
        [pod(code=2, condition="DisruptionTarget")],
        (),
        {"failed": 1, "active": 1},
    ),
    "ignore pod failure based on OnPodConditions": (
        {"backoff_limit": 0, **policy(on_condition("Ignore"))},
        [pod(condition="DisruptionTarget")],
        (),
        {"active": 1},
    ),
    "fail job based on OnPodConditions": (
        policy(on_condition("FailJob")),
        [pod(condition="DisruptionTarget", name="p")],
        failed(("PodFailurePolicy", "Pod ns/p has condition DisruptionTarget matching FailJob rule at index 0")),
        {"failed": 1},
    ),
    "terminating Pod not considered failed when JobPodFailurePolicy is enabled and used": (
        policy(on_condition("Count")),
        [pod("Running", deleting=True)],
        (),
        {"terminating": 1},
    ),
    # successPolicy
    "job has SuccessCriteriaMet condition if job meets to successPolicy and some indexes fail": (
        {**_TWO, "backoff_limit": 1, **succeeds(succeededIndexes="0,1", succeededCount=1)},
        [pod("Succeeded", 0), pod("Failed", 0), pod("Running", 1)],
        met_by(SUCCESS),
        {"succeeded": 1, "failed": 1, "completed_indexes": "0", "terminating": 1},
    ),
    "job with podFailurePolicy and successPolicy meets the successPolicy and not the podFailurePolicy": (
        {**_TWO, **succeeds(succeededIndexes="0,1", succeededCount=1), **_FAIL_ON_FIVE},
        [pod("Succeeded", 0), pod("Failed", 0, code=0), pod("Running", 1)],
        met_by(SUCCESS),
        {"succeeded": 1, "failed": 1, "completed_indexes": "0", "terminating": 1},
    ),
    "job with backoffLimitPerIndex and successPolicy meets the successPolicy and not the limit": (
        {**_PER_INDEX, **succeeds(succeededIndexes="0,1", succeededCount=1)},
        [pod("Succeeded", 0, failures=0), pod("Failed", 0, failures=0), pod("Running", 1, failures=0)],
        met_by(SUCCESS),
        {"succeeded": 1, "failed": 1, "completed_indexes": "0", "failed_indexes": "", "terminating": 1},
    ),
    "job has both Complete and SuccessCriteriaMet condition when all pods have ended": (
        {**_TWO, **succeeds(succeededIndexes="0,1")},
        [pod("Succeeded", 0), pod("Succeeded", 1)],
        complete(),
        {"succeeded": 2, "completed_indexes": "0,1"},
    ),
    "job has SuccessCriteriaMet condition when some pods still are running": (
        {**_TWO, "parallelism": 3, "completions": 3, **succeeds(succeededIndexes="0"), **met()},
        [pod("Succeeded", 0), pod("Running", 1), pod("Running", 2)],
        met_by(SUCCESS),
        {"succeeded": 1, "completed_indexes": "0", "terminating": 2},
    ),
    "job has a failed condition when job meets to both successPolicy and podFailurePolicy": (
        {**_TWO, **succeeds(succeededIndexes="0,1", succeededCount=1), **_FAIL_ON_FIVE},
        [pod("Failed", 0, code=5, name="p"), pod("Succeeded", 1)],
        failed(by_code()),
        {"succeeded": 1, "failed": 1, "completed_indexes": "1"},
    ),
    "job has a failed condition when job meets to both successPolicy and backoffLimitPerIndex": (
        {**_PER_INDEX, "backoffLimitPerIndex": 0, **succeeds(succeededIndexes="0,1", succeededCount=1)},
        [pod("Failed", 0, failures=0), pod("Succeeded", 1, failures=0)],
        failed(FAILED_INDEXES),
        {"succeeded": 1, "failed": 1, "completed_indexes": "1", "failed_indexes": "0"},
    ),
    "job has a failed condition when job meets to both successPolicy and backoffLimit": (
        {**_TWO, "backoff_limit": 0, **succeeds(succeededIndexes="0,1", succeededCount=1)},
        [pod("Failed", 0), pod("Succeeded", 1)],
        failed(LIMIT),
        {"succeeded": 1, "failed": 1, "completed_indexes": "1"},
    ),
    "job with SuccessCriteriaMet has never been transitioned to FailureTarget; podFailurePolicy": (
        {**_TWO, **succeeds(succeededIndexes="0,1", succeededCount=1), **_FAIL_ON_FIVE, **met()},
        [pod("Failed", 0, code=5, name="p"), pod("Succeeded", 1)],
        complete(),
        {"succeeded": 1, "failed": 1, "completed_indexes": "1"},
    ),
    "job with SuccessCriteriaMet has never been transitioned to FailureTarget; backoffLimitPerIndex": (
        {**_PER_INDEX, "backoffLimitPerIndex": 0, **succeeds(succeededIndexes="0,1", succeededCount=1), **met()},
        [pod("Failed", 0, failures=0), pod("Succeeded", 1, failures=0)],
        complete(),
        {"succeeded": 1, "failed": 1, "completed_indexes": "1", "failed_indexes": "0"},
    ),
    "job with SuccessCriteriaMet has never been transitioned to FailureTarget; backoffLimit": (
        {**_TWO, "backoff_limit": 0, **succeeds(succeededIndexes="0,1", succeededCount=1), **met()},
        [pod("Failed", 0), pod("Succeeded", 1)],
        complete(),
        {"succeeded": 1, "failed": 1, "completed_indexes": "1"},
    ),
    "job with FailureTarget has never been transitioned to SuccessCriteriaMet": (
        {**_TWO, **succeeds(succeededIndexes="1"), **_FAIL_ON_FIVE, **target(by_code())},
        [pod("Failed", 0, code=5, name="p"), pod("Succeeded", 1)],
        failed(by_code()),
        {"succeeded": 1, "failed": 1, "completed_indexes": "1"},
    ),
    "job without successPolicy got SuccessCriteriaMet and Completion with CompletionsReached": (
        {"parallelism": 1, "completions": 1, "indexed": True},
        [pod("Succeeded", 0)],
        complete(DONE),
        {"succeeded": 1, "completed_indexes": "0"},
    ),
    # backoffLimitPerIndex
    "successful job after a single failure within index": (
        _PER_INDEX,
        [pod("Failed", 0, failures=0), pod("Succeeded", 0, failures=1), pod("Succeeded", 1, failures=0)],
        complete(DONE),
        {"failed": 1, "succeeded": 2, "completed_indexes": "0,1", "failed_indexes": ""},
    ),
    "single failed pod, not counted as the replacement pod creation is delayed": (
        _PER_INDEX,
        [pod("Failed", 0, failures=0)],
        (),
        {"active": 2, "failed_indexes": ""},
    ),
    "single failed pod replaced already": (
        _PER_INDEX,
        [pod("Failed", 0, failures=0), pod("Pending", 0, failures=1)],
        (),
        {"active": 2, "failed": 1, "failed_indexes": ""},
    ),
    "single failed index due to exceeding the backoff limit per index, the job continues": (
        _PER_INDEX,
        [pod("Failed", 0, failures=1)],
        (),
        {"active": 1, "failed": 1, "failed_indexes": "0"},
    ),
    "single failed index due to FailIndex action, the job continues": (
        {**_PER_INDEX, **policy(on_codes("FailIndex", 3))},
        [pod("Failed", 0, failures=0, code=3)],
        (),
        {"active": 1, "failed": 1, "failed_indexes": "0"},
    ),
    "job failed index due to FailJob action": (
        {**_PER_INDEX, "backoff_limit": 6, **policy(on_codes("FailJob", 3))},
        [pod("Failed", 0, failures=0, code=3, name="p")],
        failed(by_code(3)),
        {"failed": 1, "failed_indexes": ""},
    ),
    "job pod failure ignored due to matching Ignore action": (
        {**_PER_INDEX, "backoff_limit": 6, **policy(on_codes("Ignore", 3))},
        [pod("Failed", 0, failures=0, code=3)],
        (),
        {"active": 2, "failed_indexes": ""},
    ),
    "job failed due to exceeding backoffLimit before backoffLimitPerIndex": (
        {**_PER_INDEX, "backoff_limit": 1},
        [pod("Failed", 0, failures=0), pod("Failed", 1, failures=0)],
        failed(LIMIT),
        {"failed": 2, "failed_indexes": ""},
    ),
    "job failed due to failed indexes": (
        _PER_INDEX,
        [pod("Failed", 0, failures=1), pod("Succeeded", 1, failures=0)],
        failed(FAILED_INDEXES),
        {"failed": 1, "succeeded": 1, "completed_indexes": "1", "failed_indexes": "0"},
    ),
    "job failed due to exceeding max failed indexes": (
        {**_PER_INDEX, "parallelism": 4, "completions": 4, "maxFailedIndexes": 1},
        [
            pod("Failed", 0, failures=1),
            pod("Succeeded", 1, failures=0),
            pod("Failed", 2, failures=1),
            pod("Running", 3, failures=0),
        ],
        failing(MAX_FAILED),
        {"failed": 3, "succeeded": 1, "completed_indexes": "1", "failed_indexes": "0,2", "terminating": 1},
    ),
}

#: What a count is where a case says nothing of it.
_NOTHING: dict[str, Any] = {
    "active": 0,
    "succeeded": 0,
    "failed": 0,
    "terminating": 0,
    "completed_indexes": "",
    "failed_indexes": None,
}


@pytest.mark.parametrize("name", CASES)
async def test_a_job_goes_on_or_ends_as_its_policies_say(name: str) -> None:
    spec, pods, conditions, counts = CASES[name]
    # Nothing is waited for after failures that are an hour old.
    job = job_of(**{**_NOW, **spec})
    world = World(job, pods)

    await world.sync()

    status = world.status
    assert tuple((each.type, each.reason, each.message) for each in status.conditions or ()) == conditions
    assert all(each.status == "True" for each in status.conditions or ())
    found = {field: getattr(status, field) or default for field, default in _NOTHING.items()}
    found["failed_indexes"] = status.failed_indexes
    assert found == {**_NOTHING, **counts}
    assert (status.completion_time is not None) == any(each[0] == "Complete" for each in conditions)


async def test_ignored_failures_delay_the_next_pod_all_the_same() -> None:
    failed_now = pod(condition="DisruptionTarget", ended=NOW)
    world = World(job_of(backoff_limit=0, **policy(on_condition("Ignore"))), [failed_now])

    await world.sync()

    assert not world.pods.created
    assert world.looks_again_in == 10
    assert world.status.failed is None


async def test_a_job_is_looked_at_again_when_its_deadline_is_over() -> None:
    world = World(job_of(activeDeadlineSeconds=10))

    await world.sync()

    assert world.looks_again_in == 10
    assert not world.status.conditions


async def test_a_job_that_has_failed_is_told_of_once() -> None:
    job = job_of(backoff_limit=0)
    world = World(job, [pod()])

    await world.sync()
    job.status = world.status
    await world.sync()

    assert world.recorder.events == ["Warning BackoffLimitExceeded j: Job has reached the specified backoff limit"]


async def test_a_job_ends_only_after_its_pods_are_deleted() -> None:
    world = World(job_of(parallelism=3, completions=3, backoff_limit=0), [pod(), pod("Running"), pod("Running")])
    stays = world.informers.informer_for(V1Pod).indexer.list()[-1].metadata.name

    def delete(name: str) -> None:
        if name == stays:
            raise forbidden("it stays")

    world.pods.on_delete = delete

    with pytest.raises(Forbidden, match="it stays"):
        await world.sync()

    assert (world.status.active, world.status.terminating, world.status.failed) == (1, 1, 1)
    assert [each.type for each in world.status.conditions] == ["FailureTarget"]
    assert not world.recorder.events


async def test_a_job_with_more_successes_than_it_wanted_says_so() -> None:
    world = World(job_of(completions=1), [pod("Succeeded"), pod("Succeeded")])

    await world.sync()

    assert world.recorder.events == [
        "Warning TooManySucceededPods j: Too many succeeded pods running after completion count reached",
        "Normal Completed j: Job completed",
    ]


@pytest.mark.parametrize(
    ("restart", "limit", "restarts", "phase", "fails"),
    [
        ("OnFailure", 1, 1, "Running", True),
        ("OnFailure", 0, 1, "Running", True),
        ("OnFailure", 0, 0, "Running", False),
        ("OnFailure", 5, 4, "Running", False),
        ("OnFailure", 5, 5, "Pending", True),
        ("OnFailure", 6, 5, "Pending", False),
        ("Never", 1, 9, "Running", False),
    ],
)
async def test_restarts_in_place_count_towards_the_backoff_limit(
    restart: str, limit: int, restarts: int, phase: str, fails: bool
) -> None:
    state = {"name": "c", "image": "", "imageID": "", "ready": False, "restartCount": restarts, "state": {}}
    world = World(job_of(restart=restart, backoff_limit=limit), [pod_of(phase, status={"containerStatuses": [state]})])

    await world.sync()

    assert [each.reason for each in world.status.conditions or ()] == (["BackoffLimitExceeded"] if fails else [])
    assert len(world.pods.deleted) == fails


async def test_indexes_beyond_a_job_that_was_made_smaller_count_no_longer() -> None:
    status = {"completedIndexes": "0-2,4,6,7", "succeeded": 6, "startTime": stamp(NOW)}
    world = World(job_of(completions=5, parallelism=2, indexed=True, status=status))

    await world.sync()

    assert (world.status.completed_indexes, world.status.succeeded) == ("0-2,4", 4)
    assert world.created_indexes == [3]
