"""Each pod is counted once: uids in the status, then the finalizer, then the counter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kinformer.controllerutil.owning import OwnerId
from kinformer.models import V1JobCondition, V1Pod, from_dict
from kinformer_controllers.job.counting import take_stock
from kinformer_controllers.job.metrics import count_tracked_terminated_pod
from kinformer_controllers.job.outcome import ensure_condition, new_condition
from kinformer_controllers.job.reconciling import own_copy
from tests.controllers.job.world import NOW, UID, World, job_of, pod_of
from tests.controllers.objects import forbidden
from tests.metrics import metric_value

JOB = OwnerId("ns/j", UID)
TRACKED, COUNTED = True, False


def condition(type_: str) -> V1JobCondition:
    return new_condition(type_, "", "", NOW)


def pods(*given: tuple[Any, ...]) -> list[V1Pod]:
    """Of each: uid, phase, whether it has the finalizer, and an index or ``deleting``."""
    made = []
    for uid, phase, tracked, *rest in given:
        options: dict[str, Any] = {"deleting": True} if rest == ["deleting"] else {"index": rest[0]} if rest else {}
        made.append(pod_of(phase, uid=uid, tracked=tracked, **options))
    return made


@dataclass(kw_only=True)
class Case:
    """
    :param wants: each status that is written, as :func:`told` tells of it
    """

    job: dict[str, Any] = field(default_factory=dict)
    pods: Sequence[V1Pod] = ()
    finished: V1JobCondition | None = None
    released: tuple[str, ...] = ()
    changed: bool = False
    refused: str = ""
    removals: int = 0
    wants: tuple[dict[str, Any], ...] = ()


def told(status: Any) -> dict[str, Any]:
    """What a status says, without what it says nothing of."""
    uncounted = status.uncounted_terminated_pods
    said = {
        "active": status.active,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "completed": status.completed_indexes,
        "failed_indexes": status.failed_indexes,
        "uncounted": (uncounted.succeeded or [], uncounted.failed or []),
        "conditions": [each.type for each in status.conditions or ()],
    }
    return {name: value for name, value in said.items() if value and value != ([], [])}


def _status(**status: Any) -> dict[str, Any]:
    return {"status": status}


def _uncounted(succeeded: str = "", failed: str = "") -> dict[str, Any]:
    return {"uncountedTerminatedPods": {"succeeded": list(succeeded), "failed": list(failed)}}


_SIX = {"indexed": True, "completions": 6}

CASES = {
    "no updates": Case(),
    "new active": Case(job=_status(active=1), changed=True, wants=({"active": 1},)),
    "track finished pods": Case(
        pods=pods(
            ("a", "Succeeded", TRACKED),
            ("b", "Failed", TRACKED),
            ("c", "Succeeded", TRACKED, "deleting"),
            ("d", "Failed", TRACKED, "deleting"),
            ("e", "Pending", TRACKED, "deleting"),
            ("f", "Pending", TRACKED),
            ("g", "Running", TRACKED),
        ),
        removals=5,
        wants=({"uncounted": (["a", "c"], ["b", "d", "e"])}, {"succeeded": 2, "failed": 3}),
    ),
    "past and new finished pods": Case(
        job=_status(active=1, succeeded=2, failed=3, **_uncounted("ae", "bf")),
        pods=pods(
            ("e", "Succeeded", COUNTED),
            ("x", "Failed", COUNTED),
            ("y", "Pending", COUNTED),
            ("a", "Succeeded", TRACKED),
            ("b", "Failed", TRACKED),
            ("c", "Succeeded", TRACKED),
            ("d", "Failed", TRACKED),
        ),
        removals=4,
        wants=(
            {"active": 1, "succeeded": 3, "failed": 4, "uncounted": (["a", "c"], ["b", "d"])},
            {"active": 1, "succeeded": 5, "failed": 6},
        ),
    ),
    "expecting removed finalizers": Case(
        job=_status(succeeded=2, failed=3, **_uncounted("ag", "bh")),
        released=("c", "d", "g", "h"),
        pods=pods(
            *((uid, "Succeeded", TRACKED) for uid in "aceg"),
            *((uid, "Failed", TRACKED) for uid in "bdfh"),
        ),
        removals=4,
        wants=(
            {"succeeded": 3, "failed": 4, "uncounted": (["a", "e"], ["b", "f"])},
            {"succeeded": 5, "failed": 6},
        ),
    ),
    "succeeding job by JobSuccessPolicy": Case(
        pods=pods(("a", "Succeeded", TRACKED), ("b", "Failed", TRACKED), ("c", "Pending", TRACKED)),
        finished=condition("SuccessCriteriaMet"),
        removals=3,
        wants=(
            {"uncounted": (["a"], ["b"]), "conditions": ["SuccessCriteriaMet"]},
            {"succeeded": 1, "failed": 1, "conditions": ["SuccessCriteriaMet", "Complete"]},
        ),
    ),
    "completing job": Case(
        pods=pods(("a", "Succeeded", TRACKED), ("b", "Failed", TRACKED)),
        finished=condition("Complete"),
        removals=2,
        wants=({"uncounted": (["a"], ["b"])}, {"succeeded": 1, "failed": 1, "conditions": ["Complete"]}),
    ),
    "failing job": Case(
        pods=pods(("a", "Succeeded", TRACKED), ("b", "Failed", TRACKED), ("c", "Running", TRACKED)),
        finished=condition("Failed"),
        removals=3,
        wants=({"uncounted": (["a"], ["b", "c"])}, {"succeeded": 1, "failed": 2, "conditions": ["Failed"]}),
    ),
    "deleted job": Case(
        job={"deleting": True, **_status(active=1)},
        pods=pods(("a", "Succeeded", TRACKED), ("b", "Failed", TRACKED), ("c", "Running", TRACKED)),
        removals=3,
        wants=({"active": 1, "uncounted": (["a"], ["b"])}, {"active": 1, "succeeded": 1, "failed": 1}),
    ),
    "status update error": Case(
        pods=pods(("a", "Succeeded", TRACKED), ("b", "Failed", TRACKED)), refused="status", wants=()
    ),
    "pod patch errors": Case(
        pods=pods(("a", "Succeeded", TRACKED), ("b", "Failed", TRACKED)),
        refused="pods",
        removals=2,
        wants=({"uncounted": (["a"], ["b"])},),
    ),
    "pod patch errors with partial success": Case(
        job=_status(**_uncounted("a", "b")),
        pods=pods(("a", "Succeeded", COUNTED), ("c", "Succeeded", TRACKED), ("d", "Failed", TRACKED)),
        refused="pods",
        removals=2,
        wants=({"succeeded": 1, "failed": 1, "uncounted": (["c"], ["d"])},),
    ),
    "pod patch error of one of two": Case(
        pods=pods(("a", "Succeeded", TRACKED), ("b", "Failed", TRACKED)),
        refused="the second pod",
        removals=2,
        wants=({"uncounted": (["a"], ["b"])}, {"succeeded": 1, "uncounted": ([], ["b"])}),
    ),
    "indexed job new successful pods": Case(
        job={**_SIX, **_status(active=1)},
        pods=pods(
            ("a", "Succeeded", TRACKED, 1),
            ("b", "Succeeded", TRACKED, 3),
            ("c", "Succeeded", TRACKED, 3),
            ("d", "Running", TRACKED, 5),
            ("e", "Succeeded", TRACKED),
        ),
        removals=4,
        wants=({"active": 1, "succeeded": 2, "completed": "1,3"},),
    ),
    "indexed job prev successful pods outside current completions index range with no new succeeded pods": Case(
        job={"indexed": True, "completions": 2, **_status(active=2, succeeded=1, completedIndexes="3")},
        pods=pods(("a", "Running", TRACKED, 0), ("b", "Running", TRACKED, 1)),
        wants=({"active": 2},),
    ),
    "indexed job prev successful pods outside current completions index range with new succeeded pods in range": Case(
        job={"indexed": True, "completions": 2, **_status(active=2, succeeded=1, completedIndexes="3")},
        pods=pods(("a", "Running", TRACKED, 0), ("b", "Succeeded", TRACKED, 1)),
        removals=1,
        wants=({"active": 2, "succeeded": 1, "completed": "1"},),
    ),
    "indexed job new failed pods": Case(
        job={**_SIX, **_status(active=1)},
        pods=pods(
            ("a", "Failed", TRACKED, 1),
            ("b", "Failed", TRACKED, 3),
            ("c", "Failed", TRACKED, 3),
            ("d", "Running", TRACKED, 5),
            ("e", "Failed", TRACKED),
        ),
        removals=4,
        wants=({"active": 1, "uncounted": ([], ["a", "b", "c"])}, {"active": 1, "failed": 3}),
    ),
    "indexed job past and new pods": Case(
        job={
            "indexed": True,
            "completions": 7,
            **_status(failed=2, succeeded=5, completedIndexes="0-2,4,6,7"),
        },
        pods=pods(
            ("u", "Succeeded", COUNTED, 0),
            ("v", "Failed", COUNTED, 1),
            ("w", "Succeeded", TRACKED, 1),
            ("x", "Succeeded", TRACKED, 3),
            ("a", "Failed", TRACKED, 2),
            ("b", "Failed", TRACKED, 5),
        ),
        removals=4,
        wants=(
            {"succeeded": 6, "failed": 2, "completed": "0-4,6", "uncounted": ([], ["a", "b"])},
            {"succeeded": 6, "failed": 4, "completed": "0-4,6"},
        ),
    ),
    "too many finished": Case(
        job=_status(**_uncounted(failed="ab")),
        pods=pods(*((str(uid), "Succeeded", TRACKED) for uid in range(500)), ("b", "Failed", TRACKED)),
        removals=499,
        wants=(
            {"failed": 1, "uncounted": ([str(uid) for uid in range(499)], ["b"])},
            {"succeeded": 499, "failed": 1, "uncounted": ([], ["b"])},
        ),
    ),
    "too many indexed finished": Case(
        job={"indexed": True, "completions": 501},
        pods=pods(*((str(uid), "Succeeded", TRACKED, uid) for uid in range(501))),
        finished=condition("Complete"),
        removals=500,
        # Its index is enough to count a success once: the pod that is left over loses its finalizer in the next sync.
        wants=({"succeeded": 501, "completed": "0-500"},),
    ),
    "pod flips from failed to succeeded": Case(
        job={"completions": 2, **_status(**_uncounted(failed="ab"))},
        pods=pods(("a", "Failed", TRACKED), ("b", "Succeeded", TRACKED)),
        finished=condition("Failed"),
        removals=2,
        wants=({"failed": 2, "conditions": ["Failed"]},),
    ),
    "pod is terminal; JobFailed condition is set": Case(
        job=_status(**_uncounted(failed="a")),
        pods=pods(("a", "Failed", TRACKED)),
        finished=condition("Failed"),
        removals=1,
        wants=({"failed": 1, "conditions": ["Failed"]},),
    ),
    "pod is terminating; counted as failed, but the JobFailed condition is delayed": Case(
        job=_status(conditions=[{"type": "FailureTarget", "status": "True"}], **_uncounted(failed="a")),
        pods=pods(("a", "Running", COUNTED, "deleting")),
        finished=condition("Failed"),
        wants=({"failed": 1, "conditions": ["FailureTarget"]},),
    ),
    "pod is terminating; JobSuccessCriteriaMet, but JobComplete condition is delayed": Case(
        job=_status(conditions=[{"type": "SuccessCriteriaMet", "status": "True"}], **_uncounted("b", "a")),
        pods=pods(("a", "Running", COUNTED, "deleting")),
        finished=condition("SuccessCriteriaMet"),
        wants=({"succeeded": 1, "failed": 1, "conditions": ["SuccessCriteriaMet"]},),
    ),
    "indexed job with a failed pod with delayed finalizer removal; the pod is not counted": Case(
        job={**_SIX, "backoffLimitPerIndex": 1},
        pods=pods(("a", "Failed", TRACKED, 1)),
        changed=True,
        wants=({},),
    ),
    "indexed job with a failed pod which is recreated by a running pod; the pod is counted": Case(
        job={**_SIX, "backoffLimitPerIndex": 1},
        pods=pods(("a1", "Failed", TRACKED, 1), ("a2", "Running", TRACKED, 1)),
        removals=1,
        wants=({"uncounted": ([], ["a1"])}, {"failed": 1}),
    ),
    "indexed job with a failed pod for a failed index; the pod is counted": Case(
        job={**_SIX, "backoffLimitPerIndex": 0},
        pods=pods(("a", "Failed", TRACKED, 1)),
        removals=1,
        wants=({"failed_indexes": "1", "uncounted": ([], ["a"])}, {"failed_indexes": "1", "failed": 1}),
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_what_has_ended_passes_from_the_finalizers_into_the_counters(name: str) -> None:
    case = CASES[name]
    job = job_of(**case.job)
    world = World(job, case.pods)
    stock = take_stock(own_copy(job), case.pods, case.released)
    stock.finished = case.finished
    if case.refused == "status":
        world.server.update_errors.append(forbidden("no"))

    def refuse(name: str) -> None:
        if case.refused == "pods" or (case.refused == "the second pod" and name == case.pods[1].metadata.name):
            raise forbidden("no")

    world.pods.on_patch = refuse

    if case.refused:
        with pytest.raises(Exception, match="no"):
            await world.controller.reconciler.tracker.track(stock, case.changed)
    else:
        await world.controller.reconciler.tracker.track(stock, case.changed)

    assert len(world.pods.patches) == case.removals
    assert [told(status) for status in world.server.statuses] == list(case.wants)


async def test_a_pod_without_its_finalizer_is_not_counted_twice() -> None:
    job = job_of(completions=2, parallelism=2)
    stale = pod_of("Failed", uid="a")
    world = World(job, [stale, pod_of()])
    await world.sync()
    assert world.status.failed == 1
    job.status = world.status

    await world.sync()

    assert world.status.failed == 1
    assert len(world.pods.patches) == 1


async def test_pods_that_an_earlier_sync_released_are_still_awaited() -> None:
    world = World(job_of(completions=2, parallelism=2), [pod_of("Failed", uid="a"), pod_of()])
    world.controller.released.expect(JOB, deletions=["b"])

    await world.sync()

    assert world.controller.released.awaited_deletions(JOB) == {"a", "b"}


@pytest.mark.parametrize(
    ("old", "new", "event"),
    [
        pytest.param(None, ("Running", TRACKED), "", id="new non-finished Pod with finalizer"),
        pytest.param(("Running", TRACKED), ("Failed", TRACKED), "add", id="pod with finalizer fails"),
        pytest.param(("Running", TRACKED), ("Succeeded", TRACKED), "add", id="pod with finalizer succeeds"),
        pytest.param(("Succeeded", TRACKED), ("Succeeded", COUNTED), "delete", id="succeeded pod loses finalizer"),
        pytest.param(("Succeeded", COUNTED), None, "", id="pod without finalizer removed"),
    ],
)
def test_terminated_pods_with_the_finalizer_are_counted_as_they_come_and_go(
    old: tuple[str, bool] | None, new: tuple[str, bool] | None, event: str
) -> None:
    def counts() -> dict[str, float]:
        name = "job_controller_terminated_pods_tracking_finalizer_total"
        return {each: metric_value(name, {"event": each}) or 0 for each in ("add", "delete")}

    def make(state: tuple[str, bool] | None) -> V1Pod | None:
        return pod_of(state[0], tracked=state[1]) if state is not None else None

    before = counts()

    count_tracked_terminated_pod(make(old), make(new))

    assert {each: counts()[each] - before[each] for each in before} == {
        "add": float(event == "add"),
        "delete": float(event == "delete"),
    }


async def test_failures_that_a_policy_handled_are_counted_by_its_action() -> None:
    name = "job_controller_pod_failures_handled_by_failure_policy_total"

    def handled() -> list[float]:
        actions = ("Ignore", "Count", "FailJob")
        return [metric_value(name, {"action": action}) or 0 for action in actions]

    def rule(action: str, type_: str) -> dict[str, Any]:
        return {"action": action, "onPodConditions": [{"type": type_, "status": "True"}]}

    def failed(type_: str) -> V1Pod:
        return pod_of("Failed", status={"conditions": [{"type": type_, "status": "True"}]})

    before = handled()
    policy = {"rules": [rule("Ignore", "A"), rule("Count", "B")]}
    world = World(job_of(podFailurePolicy=policy), [failed("A"), failed("A"), failed("B"), failed("C")])

    await world.sync()

    assert [now - then for now, then in zip(handled(), before, strict=True)] == [2, 1, 0]


CONDITION = {"type": "Suspended", "status": "True", "reason": "r", "message": "m"}


@pytest.mark.parametrize(
    ("there", "wanted", "expected", "changed"),
    [
        pytest.param([], CONDITION, [CONDITION], True, id="append true condition"),
        pytest.param([], {**CONDITION, "status": "False"}, [], False, id="append false condition"),
        pytest.param(
            [CONDITION], {**CONDITION, "reason": "s"}, [{**CONDITION, "reason": "s"}], True, id="update reason"
        ),
        pytest.param(
            [CONDITION], {**CONDITION, "message": "n"}, [{**CONDITION, "message": "n"}], True, id="update message"
        ),
        pytest.param(
            [CONDITION], {**CONDITION, "status": "False"}, [{**CONDITION, "status": "False"}], True, id="update status"
        ),
        pytest.param(
            [{**CONDITION, "status": "False"}], CONDITION, [CONDITION], True, id="update false condition status"
        ),
        pytest.param([CONDITION], CONDITION, [CONDITION], False, id="condition already exists"),
    ],
)
def test_a_condition_is_added_if_true_and_changed_if_different(
    there: list[dict[str, str]], wanted: dict[str, str], expected: list[dict[str, str]], changed: bool
) -> None:
    conditions = [from_dict(V1JobCondition, each) for each in there]

    found, has_changed = ensure_condition(conditions, from_dict(V1JobCondition, wanted))

    assert found == [from_dict(V1JobCondition, each) for each in expected]
    assert has_changed is changed
    assert conditions == [from_dict(V1JobCondition, each) for each in there]
