"""What a failed pod means by its policy, when enough has succeeded, when a pod ended, and how a Job has ended."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from kinformer.models import V1Pod
from kinformer_controllers.job.counting import Backoff, remaining_for_index, remaining_seconds
from kinformer_controllers.job.intervals import Indexes
from kinformer_controllers.job.jobs import is_finished
from kinformer_controllers.job.pods import finished_at
from kinformer_controllers.job.policies import Verdict, match_failure_policy, success_message
from tests.controllers.job.world import NOW, job_of, pod_of, stamp


def codes(action: str, *values: int, operator: str = "In", **rest: Any) -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values), **rest}}


def condition(action: str, status: str = "True", type_: str = "DisruptionTarget") -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": type_, "status": status}]}


def ended(*exits: int, condition_status: str = "") -> V1Pod:
    """:param exits: the codes with which its containers c0, c1, … have ended."""
    states = [
        {
            "name": f"c{place}",
            "image": "",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": code}},
        }
        for place, code in enumerate(exits)
    ]
    conditions = [{"type": "DisruptionTarget", "status": condition_status}] if condition_status else []
    return pod_of("Failed", name="p", status={"containerStatuses": states, "conditions": conditions})


NONE = Verdict(None, True, None)
IGNORED = Verdict(None, False, "Ignore")
COUNTED = Verdict(None, True, "Count")
FAILS_INDEX = Verdict(None, True, "FailIndex")


def fails(why: str, rule: int = 0) -> Verdict:
    return Verdict(f"{why} matching FailJob rule at index {rule}", True, "FailJob")


@pytest.mark.parametrize(
    ("rules", "pod", "verdict"),
    [
        pytest.param([codes("Someday", 1), codes("Ignore", 1)], ended(1), IGNORED, id="unknown action, exit codes"),
        pytest.param(
            [condition("Someday"), condition("Ignore")],
            ended(condition_status="True"),
            IGNORED,
            id="unknown action, pod conditions",
        ),
        pytest.param([codes("Ignore", 1, operator="Near")], ended(1), NONE, id="unknown operator"),
        pytest.param([], ended(1), NONE, id="no policy rules"),
        pytest.param([codes("Ignore", 1, 2, 3)], ended(2), IGNORED, id="ignore rule matched for exit codes"),
        pytest.param([codes("Ignore", -1073741510)], ended(-1073741510), IGNORED, id="negative exit codes"),
        pytest.param(
            [codes("FailJob", 1, 2, 3)],
            ended(2),
            fails("Container c0 for pod ns/p failed with exit code 2"),
            id="FailJob rule matched for exit codes",
        ),
        pytest.param(
            [codes("FailJob", 111, operator="NotIn")],
            ended(0, 111, 6),
            fails("Container c2 for pod ns/p failed with exit code 6"),
            id="successful containers are skipped by the rules",
        ),
        pytest.param([codes("FailIndex", 2)], ended(2), FAILS_INDEX, id="FailIndex rule matched for exit codes"),
        pytest.param(
            [codes("FailJob", 0, operator="NotIn")],
            ended(1),
            fails("Container c0 for pod ns/p failed with exit code 1"),
            id="pod failure policy with NotIn operator and value 0",
        ),
        pytest.param(
            [codes("FailJob", 1), codes("FailJob", 4, 5, 6)],
            ended(6),
            fails("Container c0 for pod ns/p failed with exit code 6", 1),
            id="second jobfail rule matched for exit codes",
        ),
        pytest.param([codes("Count", 1, 2, 3)], ended(2), COUNTED, id="count rule matched for exit codes"),
        pytest.param([codes("Ignore", 2, containerName="c1")], ended(2, 3), NONE, id="the code is another container's"),
        pytest.param(
            [condition("FailIndex")],
            ended(condition_status="True"),
            FAILS_INDEX,
            id="FailIndex rule matched for pod conditions",
        ),
        pytest.param(
            [condition("Ignore")], ended(condition_status="True"), IGNORED, id="ignore rule matched for pod conditions"
        ),
        pytest.param(
            [condition("Ignore", "False")],
            ended(condition_status="False"),
            IGNORED,
            id="ignore rule matches by the status=False",
        ),
        pytest.param(
            [condition("Ignore", "Unknown")],
            ended(condition_status="Unknown"),
            IGNORED,
            id="ignore rule matches by the status=Unknown",
        ),
        pytest.param(
            [condition("Ignore", "False")],
            ended(condition_status="True"),
            NONE,
            id="status for pattern is False, but actual True",
        ),
        pytest.param(
            [condition("Ignore")],
            ended(condition_status="False"),
            NONE,
            id="status for pattern is True, but actual False",
        ),
        pytest.param(
            [condition("FailJob")],
            ended(condition_status="True"),
            fails("Pod ns/p has condition DisruptionTarget"),
            id="job fail rule matched for pod conditions",
        ),
        pytest.param(
            [condition("Count")], ended(condition_status="True"), COUNTED, id="count rule matched for pod conditions"
        ),
        pytest.param([codes("FailJob", 8)], ended(32), NONE, id="no rule matched"),
    ],
)
def test_the_first_rule_that_matches_says_what_a_failure_means(
    rules: list[dict[str, Any]], pod: V1Pod, verdict: Verdict
) -> None:
    assert match_failure_policy(job_of(podFailurePolicy={"rules": rules}), pod) == verdict


def test_without_a_policy_each_failure_counts() -> None:
    assert match_failure_policy(job_of(), ended(1)) == NONE


def rule(indexes: str | None = None, count: int | None = None) -> dict[str, Any]:
    said = {"succeededIndexes": indexes, "succeededCount": count}
    return {name: value for name, value in said.items() if value is not None}


@pytest.mark.parametrize(
    ("rules", "succeeded", "met"),
    [
        pytest.param(None, "0", None, id="successPolicy is null"),
        pytest.param([], "0", None, id="any rules are nothing"),
        pytest.param([rule("invalid-form")], "0", None, id="rules.succeededIndexes is invalid format"),
        pytest.param([rule("0-2")], "0-2", 0, id="succeededIndexes matched"),
        pytest.param([rule("0-2")], "0-1", None, id="succeededIndexes didn't match"),
        pytest.param([rule(count=2)], "0,1", 0, id="succeededCount matched"),
        pytest.param([rule(count=3)], "0,1", None, id="succeededCount didn't match"),
        pytest.param([rule("9"), rule("4,6")], "4,6", 1, id="multiple rules; met one of rules"),
        pytest.param([rule("4"), rule("6")], "4,6", 0, id="multiple rules; met all rules"),
        pytest.param([rule("0-4", 2)], "1,3", 0, id="both are specified; matched"),
        pytest.param([rule("0-4", 4)], "1,3", None, id="both are specified; didn't match"),
        pytest.param([rule("0-4")], "", None, id="succeededIndexes are nothing"),
        pytest.param([rule("0-2")], "0-5", 0, id="rules is proper subset of succeededIndexes"),
        pytest.param([rule("2-9")], "2-9", 0, id="rules equals succeededIndexes"),
        pytest.param([rule("")], "0-2", None, id="rules is an empty set"),
        pytest.param([rule("")], "", None, id="both are empty set"),
        pytest.param([rule("10-12")], "0-5", None, id="all elements of rules aren't included"),
        pytest.param([rule("2-8")], "0-4", None, id="rules overlaps at first"),
        pytest.param([rule("2-8", 3)], "0-4", 0, id="rules overlaps at first; count"),
        pytest.param([rule("0-6")], "4-9", None, id="rules overlaps at last"),
        pytest.param([rule("0-6", 3)], "4-9", 0, id="rules overlaps at last; count"),
        pytest.param([rule("0-9")], "2-5", None, id="rules completely overlaps"),
        pytest.param([rule("0-9", 4)], "2-5", 0, id="rules completely overlaps; count"),
        pytest.param([rule("0-10")], "1-2,5-6,9-12", None, id="rules overlaps multiple at last"),
        pytest.param([rule("0-10", 6)], "1-2,5-6,9-12", 0, id="rules overlaps multiple at last; count"),
        pytest.param([rule("0-5,9-12")], "3-7,9-12", None, id="overlaps at first, equals at last"),
        pytest.param([rule("0-5,9-12", 7)], "3-7,9-12", 0, id="overlaps at first, equals at last; count"),
        pytest.param([rule("0-5,20")], "3-7", None, id="the first rules overlaps at first"),
        pytest.param([rule("0-5,20", 3)], "3-7", 0, id="the first rules overlaps at first; count"),
    ],
)
def test_enough_has_succeeded_when_a_rule_is_met(
    rules: list[dict[str, Any]] | None, succeeded: str, met: int | None
) -> None:
    spec = {"successPolicy": {"rules": rules}} if rules is not None else {}
    job = job_of(completions=100, indexed=True, **spec)

    message = success_message(job, Indexes.parse(succeeded, 100))

    assert message == (None if met is None else f"Matched rules at index {met}")


def before(seconds: int) -> datetime:
    return NOW - timedelta(seconds=seconds)


def at(phase: str, seconds: int) -> V1Pod:
    return pod_of(phase, ended=before(seconds))


@pytest.mark.parametrize(
    ("record", "succeeded", "failed", "expected"),
    [
        pytest.param(Backoff(), [], [0], Backoff(1, before(0)), id="Empty backoff store and one new failure"),
        pytest.param(Backoff(), [], [0, 60], Backoff(2, before(0)), id="Empty backoff store and two new failures"),
        pytest.param(Backoff(), [0], [60, 120], Backoff(), id="two failures followed by success"),
        pytest.param(
            Backoff(), [75], [0, 60, 120, 180], Backoff(2, before(0)), id="two failures, one success and two more"
        ),
        pytest.param(Backoff(2, before(120)), [], [60], Backoff(3, before(60)), id="failure count 2 and one new"),
        pytest.param(Backoff(), [0], [0], Backoff(), id="success and failure at same timestamp"),
        pytest.param(Backoff(), [], [], Backoff(), id="no success/failure"),
        pytest.param(Backoff(3, before(60)), [], [], Backoff(3, before(60)), id="nothing new"),
        pytest.param(Backoff(2, before(60)), [0], [], Backoff(), id="one success"),
    ],
)
def test_failures_are_counted_since_the_last_success(
    record: Backoff, succeeded: list[int], failed: list[int], expected: Backoff
) -> None:
    pods = [at("Succeeded", seconds) for seconds in succeeded]

    assert record.after(pods, [at("Failed", seconds) for seconds in failed]) == expected


@pytest.mark.parametrize(
    ("failures", "ago", "seconds"),
    [
        pytest.param(0, 0, 0, id="no failures"),
        pytest.param(1, 0, 10, id="one failure; current time and failure time are same"),
        pytest.param(1, 1, 9, id="one failure; 1 second later"),
        pytest.param(1, 10, 0, id="one failure; at the expected backoff time"),
        pytest.param(1, 11, 0, id="one failure; after the expected backoff time"),
        pytest.param(3, 0, 40, id="three failures"),
        pytest.param(6, 0, 320, id="not exceeding the longest"),
        pytest.param(9, 0, 600, id="exceeding the longest"),
        pytest.param(2**31, 0, 600, id="a number that somebody made up"),
    ],
)
def test_the_wait_doubles_with_each_failure(failures: int, ago: int, seconds: float) -> None:
    assert remaining_seconds(failures, before(ago), NOW) == seconds


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
    ],
)
def test_an_index_waits_by_all_of_its_failures(annotations: dict[str, str] | None, seconds: float) -> None:
    marks = {f"batch.kubernetes.io/{name}": value for name, value in (annotations or {}).items()}
    last = pod_of("Failed", ended=NOW, annotations=marks) if annotations is not None else None

    assert remaining_for_index(last, NOW) == seconds


def container(name: str, seconds: int | None) -> dict[str, Any]:
    state = (
        {"running": {}} if seconds is None else {"terminated": {"exitCode": 1, "finishedAt": stamp(before(seconds))}}
    )
    return {"name": name, "image": "", "imageID": "", "ready": False, "restartCount": 0, "state": state}


def ready(status: str, seconds: int) -> dict[str, Any]:
    return {"type": "Ready", "status": status, "lastTransitionTime": stamp(before(seconds))}


@pytest.mark.parametrize(
    ("status", "deleted", "grace", "seconds"),
    [
        pytest.param({"containerStatuses": [container("a", 9), container("b", 5)]}, None, 0, 5, id="all terminated"),
        pytest.param(
            {"containerStatuses": [container("a", 9), container("b", None)]},
            3,
            0,
            3,
            id="one in running state; fallback to deletionTimestamp",
        ),
        pytest.param({}, 3, 0, 3, id="fallback to deletionTimestamp"),
        pytest.param({}, 3, 30, 33, id="fallback to deletionTimestamp, decremented by grace period"),
        pytest.param({}, 3, 2**63 - 1, 2, id="a grace period beyond 292 years wraps around"),
        pytest.param({"conditions": [ready("False", 7)]}, 3, 0, 7, id="fallback to PodReady.LastTransitionTime"),
        pytest.param({"conditions": [ready("True", 7)]}, 3, 0, 3, id="skip fallback when status is True"),
        pytest.param({}, None, 0, 3600, id="fallback to creationTimestamp"),
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


@pytest.mark.parametrize(
    ("conditions", "finished"),
    [
        pytest.param([], False, id="Job doesn't have any conditions"),
        pytest.param([("Complete", "True")], True, id="Job is completed and condition is true"),
        pytest.param([("Complete", "False")], False, id="Job is completed and condition is false"),
        pytest.param([("Complete", "Unknown")], False, id="Job is completed and condition is unknown"),
        pytest.param([("Suspended", "False"), ("Complete", "True")], True, id="multiple, one of them complete"),
        pytest.param([("Failed", "True")], True, id="Job is failed and condition is true"),
        pytest.param([("Failed", "False")], False, id="Job is failed and condition is false"),
        pytest.param([("Failed", "Unknown")], False, id="Job is failed and condition is unknown"),
        pytest.param([("Complete", "False"), ("Failed", "Unknown")], False, id="none of them true"),
    ],
)
def test_a_job_has_finished_when_it_is_complete_or_failed(conditions: list[tuple[str, str]], finished: bool) -> None:
    job = job_of(status={"conditions": [{"type": type_, "status": status} for type_, status in conditions]})

    assert is_finished(job) is finished
