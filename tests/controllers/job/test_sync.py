"""What one sync makes of a Job: pods made and removed, finalizers taken off, the status written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from kinformer.controllerutil.owning import OwnerId
from kinformer.models import V1Container, V1EnvVar, V1Pod
from kinformer_controllers.job.counting import Backoff
from tests.controllers.job.world import KEY, NOW, UID, World, job_of, pod_of, stamp
from tests.controllers.objects import forbidden, not_found

JOB = OwnerId(KEY, UID)
FAILED_LIMIT = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
COMPLETED = ("CompletionsReached", "Reached expected number of succeeded pods")


@dataclass(kw_only=True)
class Case:
    """
    :param job: of :func:`job_of`
    :param pods: how many there are of each sort
    :param indexes: pods with an index and a phase
    :param expects: creations that the controller waits for; below zero, deletions
    :param conditions: as type, status and reason
    """

    job: dict[str, Any]
    pods: dict[str, int] | None = None
    indexes: tuple[tuple[str, str], ...] = ()
    refused: bool = False
    limit: int = 0
    expects: int = 0
    backoff: Backoff | None = None
    creations: int = 0
    deletions: int = 0
    patches: int = 0
    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    completed: str = ""
    created_indexes: tuple[int, ...] = ()
    conditions: tuple[tuple[str, str, str], ...] = ()


_FIVE = {"parallelism": 2, "completions": 5}
_QUEUE = {"parallelism": 2, "completions": None}
_ONE = {"parallelism": 1, "completions": 1}
_INDEXED = {"parallelism": 2, "completions": 3, "indexed": True}
_SUSPEND = {"parallelism": 2, "completions": 4, "suspend": True}
_SUSPENDED = ("Suspended", "True", "JobSuspended")
_ENDED = (("SuccessCriteriaMet", "True", COMPLETED[0]), ("Complete", "True", COMPLETED[0]))
_TO_FAIL = ("FailureTarget", "True", FAILED_LIMIT[0])
_FAILED = (_TO_FAIL, ("Failed", "True", FAILED_LIMIT[0]))

CASES = {
    "job start": Case(job=_FIVE, creations=2, active=2),
    "WQ job start": Case(job=_QUEUE, creations=2, active=2),
    "pending pods": Case(job=_FIVE, pods={"Pending": 2}, active=2),
    "correct # of pods": Case(
        job={"parallelism": 3, "completions": 5}, pods={"Running": 1, "Ready": 2}, active=3, ready=2
    ),
    "WQ job: correct # of pods": Case(job=_QUEUE, pods={"Running": 2}, active=2),
    "too few active pods": Case(
        job=_FIVE, pods={"Running": 1, "Succeeded": 1}, creations=1, active=2, succeeded=1, patches=1
    ),
    "WQ job: recreate pods when failed": Case(
        job={"parallelism": 1, "completions": None, "podReplacementPolicy": "Failed"},
        pods={"Running": 1, "Failed": 1, "Terminating": 1},
        terminating=1,
        patches=1,
        failed=1,
        active=1,
    ),
    "WQ job: turn on PodReplacementPolicy but not set PodReplacementPolicy": Case(
        job=_ONE, pods={"Running": 1, "Failed": 1, "Terminating": 1}, terminating=1, active=1, patches=2, failed=2
    ),
    "WQ job: recreate pods when terminating or failed": Case(
        job={"parallelism": 1, "completions": None, "podReplacementPolicy": "TerminatingOrFailed"},
        pods={"Running": 1, "Failed": 1, "Terminating": 1},
        terminating=1,
        active=1,
        patches=2,
        failed=2,
    ),
    "more terminating pods than parallelism": Case(
        job={**_ONE, "podReplacementPolicy": "Failed"},
        pods={"Running": 2, "Terminating": 4},
        terminating=5,
        active=1,
        deletions=1,
        patches=1,
    ),
    "more terminating pods than parallelism; PodFailurePolicy used": Case(
        job={**_ONE, "podFailurePolicy": {"rules": []}},
        pods={"Running": 2, "Terminating": 4},
        terminating=5,
        active=1,
        deletions=1,
        patches=1,
    ),
    "too few active pods and active back-off": Case(
        job={**_ONE, "status": {"startTime": stamp(NOW)}}, backoff=Backoff(1, NOW)
    ),
    "too few active pods and no back-offs": Case(job=_ONE, backoff=Backoff(0, NOW), creations=1, active=1),
    "too few active pods with a dynamic job": Case(job=_QUEUE, pods={"Running": 1}, creations=1, active=2),
    "too few active pods, with controller error": Case(
        job=_FIVE, pods={"Running": 1, "Succeeded": 1}, refused=True, active=1, patches=1
    ),
    "too many active pods": Case(job=_FIVE, pods={"Running": 3}, deletions=1, active=2, patches=1, terminating=1),
    "too many active pods, with controller error": Case(
        job=_FIVE, pods={"Running": 3}, refused=True, patches=1, active=3
    ),
    "count ready pods when too many active pods": Case(
        job=_FIVE, pods={"Ready": 3}, deletions=1, active=2, patches=1, ready=2, terminating=1
    ),
    "failed + succeed pods: reset backoff delay": Case(
        job=_FIVE,
        pods={"Running": 1, "Succeeded": 1, "Failed": 1},
        creations=1,
        active=2,
        succeeded=1,
        failed=1,
        patches=2,
    ),
    "new failed pod": Case(job=_FIVE, pods={"Running": 1, "Failed": 1}, creations=1, active=2, failed=1, patches=1),
    "no new pod; possible finalizer update of failed pod": Case(
        job={**_ONE, "status": {"active": 1, "failed": 1, "startTime": stamp(NOW)}},
        pods={"Running": 1},
        active=1,
        failed=1,
    ),
    "only new failed pod with controller error": Case(
        job=_FIVE, pods={"Running": 1, "Failed": 1}, refused=True, active=1, patches=1
    ),
    "job finish": Case(job=_FIVE, pods={"Succeeded": 5}, succeeded=5, conditions=_ENDED, patches=5),
    "WQ job finishing": Case(job=_QUEUE, pods={"Running": 1, "Succeeded": 1}, active=1, succeeded=1, patches=1),
    "WQ job all finished": Case(job=_QUEUE, pods={"Succeeded": 2}, succeeded=2, conditions=_ENDED, patches=2),
    "WQ job all finished despite one failure": Case(
        job=_QUEUE, pods={"Succeeded": 1, "Failed": 1}, succeeded=1, failed=1, conditions=_ENDED, patches=2
    ),
    "more active pods than parallelism": Case(
        job=_FIVE, pods={"Running": 10}, deletions=8, active=2, patches=8, terminating=8
    ),
    "more active pods than remaining completions": Case(
        job={"parallelism": 3, "completions": 4},
        pods={"Running": 3, "Succeeded": 2},
        deletions=1,
        active=2,
        succeeded=2,
        patches=3,
        terminating=1,
    ),
    "status change": Case(job=_FIVE, pods={"Running": 2, "Succeeded": 2}, active=2, succeeded=2, patches=2),
    "deleting job": Case(
        job={**_FIVE, "deleting": True},
        pods={"Pending": 1, "Running": 1, "Succeeded": 1},
        active=2,
        succeeded=1,
        patches=3,
    ),
    "limited pods": Case(job={"parallelism": 100, "completions": 200}, limit=10, creations=10, active=10),
    "too many job failures": Case(
        job={**_FIVE, "deleting": True, "backoff_limit": 0},
        pods={"Failed": 1},
        failed=1,
        conditions=_FAILED,
        patches=1,
    ),
    "job failures, unsatisfied expectations": Case(
        job={**_FIVE, "deleting": True, "backoff_limit": 0}, pods={"Failed": 1}, expects=1, failed=1, patches=1
    ),
    "indexed job start": Case(
        job={"parallelism": 2, "completions": 5, "indexed": True}, creations=2, active=2, created_indexes=(0, 1)
    ),
    "indexed job with some pods deleted, podReplacementPolicy Failed": Case(
        job={"parallelism": 2, "completions": 5, "indexed": True, "podReplacementPolicy": "Failed"},
        pods={"Terminating": 1},
        creations=1,
        active=1,
        created_indexes=(0,),
        terminating=1,
    ),
    "indexed job with some pods deleted, podReplacementPolicy TerminatingOrFailed": Case(
        job={"parallelism": 2, "completions": 5, "indexed": True, "podReplacementPolicy": "TerminatingOrFailed"},
        pods={"Terminating": 1},
        creations=2,
        active=2,
        created_indexes=(0, 1),
        terminating=1,
        patches=1,
    ),
    "indexed job completed": Case(
        job=_INDEXED,
        indexes=(("0", "Succeeded"), ("1", "Failed"), ("1", "Succeeded"), ("2", "Succeeded")),
        succeeded=3,
        failed=1,
        completed="0-2",
        conditions=_ENDED,
        patches=4,
    ),
    "count terminating pods when indexed job fails and PodReplacementPolicy enabled": Case(
        job={**_INDEXED, "backoff_limit": 0},
        indexes=(("0", "Succeeded"), ("1", "Failed"), ("2", "Running")),
        succeeded=1,
        failed=2,
        completed="0",
        conditions=(_TO_FAIL,),
        patches=3,
        deletions=1,
        terminating=1,
    ),
    "count ready pods when job fails": Case(
        job={"parallelism": 2, "completions": 3, "backoff_limit": 0},
        pods={"Ready": 2, "Failed": 1},
        failed=3,
        conditions=(_TO_FAIL,),
        patches=3,
        deletions=2,
        terminating=2,
    ),
    "indexed job repeated completed index": Case(
        job=_INDEXED,
        indexes=(("0", "Succeeded"), ("1", "Succeeded"), ("1", "Succeeded")),
        creations=1,
        active=1,
        succeeded=2,
        completed="0,1",
        created_indexes=(2,),
        patches=3,
    ),
    "indexed job some running and completed pods": Case(
        job={"parallelism": 8, "completions": 20, "indexed": True},
        indexes=(
            ("0", "Running"),
            ("2", "Succeeded"),
            ("3", "Pending"),
            *((index, "Succeeded") for index in "45789"),
        ),
        creations=6,
        active=8,
        succeeded=6,
        completed="2,4,5,7-9",
        created_indexes=(1, 6, 10, 11, 12, 13),
        patches=6,
    ),
    "indexed job some failed pods": Case(
        job={"parallelism": 3, "completions": 4, "indexed": True},
        indexes=(("0", "Failed"), ("1", "Pending"), ("2", "Failed")),
        creations=2,
        active=3,
        failed=2,
        created_indexes=(0, 2),
        patches=2,
    ),
    "indexed job some pods without index": Case(
        job={"parallelism": 2, "completions": 5, "indexed": True},
        pods={"Running": 1, "Succeeded": 1, "Failed": 1},
        indexes=(
            *(("invalid", phase) for phase in ("Running", "Succeeded", "Failed", "Pending")),
            ("0", "Succeeded"),
            ("1", "Running"),
            ("2", "Running"),
        ),
        deletions=3,
        active=2,
        succeeded=1,
        completed="0",
        patches=8,
        terminating=3,
    ),
    "indexed job repeated indexes": Case(
        job={"parallelism": 5, "completions": 5, "indexed": True},
        pods={"Succeeded": 1, "Failed": 1},
        indexes=(("invalid", "Running"), ("0", "Succeeded"), ("1", "Running"), ("2", "Running"), ("2", "Pending")),
        deletions=2,
        active=2,
        succeeded=1,
        completed="0",
        patches=5,
        terminating=2,
    ),
    "indexed job with indexes outside of range": Case(
        job={"parallelism": 2, "completions": 5, "indexed": True},
        indexes=(("0", "Succeeded"), ("5", "Running"), ("6", "Succeeded"), ("7", "Pending"), ("8", "Failed")),
        succeeded=1,
        deletions=2,
        completed="0",
        patches=5,
        terminating=2,
    ),
    "suspending a job with satisfied expectations": Case(
        job=_SUSPEND, pods={"Running": 2}, deletions=2, conditions=(_SUSPENDED,), patches=2, terminating=2
    ),
    "count ready pods when suspending a job with satisfied expectations": Case(
        job=_SUSPEND, pods={"Ready": 2}, deletions=2, conditions=(_SUSPENDED,), patches=2, terminating=2
    ),
    "suspending a job with unsatisfied expectations": Case(job=_SUSPEND, pods={"Running": 3}, expects=-1, active=3),
    "count ready pods when suspending a job with unsatisfied expectations": Case(
        job=_SUSPEND, pods={"Ready": 3}, expects=-1, active=3, ready=3
    ),
    "resuming a suspended job": Case(
        job={
            "parallelism": 2,
            "completions": 4,
            "suspend": False,
            "status": {
                "conditions": [
                    {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
                ],
                "startTime": stamp(NOW - timedelta(hours=1)),
            },
        },
        creations=2,
        active=2,
        conditions=(("Suspended", "False", "JobResumed"),),
    ),
    "suspending a deleted job": Case(job={**_SUSPEND, "deleting": True}, pods={"Running": 2}, active=2, patches=2),
    **{
        f"{type_}=False condition added manually is ignored": Case(
            job={
                **_ONE,
                "status": {
                    "active": 1,
                    "startTime": stamp(NOW),
                    "conditions": [{"type": type_, "status": "False", "reason": "ConditionAddedManually"}],
                },
            },
            pods={"Ready": 1},
            active=1,
            ready=1,
            conditions=((type_, "False", "ConditionAddedManually"),),
        )
        for type_ in ("FailureTarget", "SuccessCriteriaMet")
    },
    "backoff limit exceeded; JobManagedBy enabled": Case(
        job={**_ONE, "backoff_limit": 0}, pods={"Failed": 1}, failed=1, conditions=_FAILED, patches=1
    ),
}


def _pods(case: Case) -> list[V1Pod]:
    pods = [pod_of(phase, index=index) for index, phase in case.indexes]
    for sort, count in (case.pods or {}).items():
        for _ in range(count):
            if sort == "Ready":
                pods.append(pod_of("Running", ready=True))
            elif sort == "Terminating":
                pods.append(pod_of("Running", deleting=True))
            else:
                pods.append(pod_of(sort))
    return pods


def _world(case: Case) -> World:
    world = World(job_of(**case.job), _pods(case))
    if case.expects:
        world.controller.expectations.expect(JOB, creations=max(case.expects, 0), deletions=max(-case.expects, 0))
    if case.backoff is not None:
        world.controller.backoffs[KEY] = case.backoff

    def refuse(*_: Any) -> None:
        if case.refused or (case.limit and len(world.pods.created) >= case.limit):
            raise forbidden("no")

    world.pods.on_create = refuse
    world.pods.on_patch = refuse
    return world


@pytest.mark.parametrize("name", CASES)
async def test_a_sync_brings_a_job_where_kubernetes_brings_it(name: str) -> None:
    case = CASES[name]
    world = _world(case)

    if case.refused or case.limit:
        with pytest.raises(Exception, match="no"):
            await world.sync()
    else:
        await world.sync()

    assert len(world.pods.created) == case.creations
    assert len(world.pods.deleted) == case.deletions
    assert len(world.pods.patches) >= case.patches if case.refused else len(world.pods.patches) == case.patches
    status = world.status
    assert (status.active or 0, status.ready, status.terminating) == (case.active, case.ready, case.terminating)
    if not case.refused:
        assert (status.succeeded or 0, status.failed or 0) == (case.succeeded, case.failed)
        assert not status.uncounted_terminated_pods.succeeded
        assert not status.uncounted_terminated_pods.failed
    else:
        assert (status.succeeded, status.failed) == (None, None)
    assert (status.completed_indexes or "") == case.completed
    found = tuple((each.type, each.status, each.reason) for each in status.conditions or ())
    assert found == case.conditions
    assert status.start_time == (None if case.job.get("suspend") else NOW)
    if case.job.get("indexed"):
        assert tuple(world.created_indexes) == case.created_indexes
    for pod in world.pods.created:
        (reference,) = pod.metadata.owner_references
        assert (reference.api_version, reference.kind, reference.name, reference.uid) == ("batch/v1", "Job", "j", UID)
        assert reference.controller


async def test_the_pods_of_an_indexed_job_know_their_index() -> None:
    job = job_of(parallelism=2, completions=2, indexed=True)
    (container,) = job.spec.template.spec.containers
    own = V1Container(name="own", env=[V1EnvVar(name="JOB_COMPLETION_INDEX", value="7")])
    other = V1Container(name="other", env=[V1EnvVar(name="HOME", value="/")])
    job.spec.template.spec.containers = [container, own, other]
    world = World(job)

    await world.sync()

    for index, pod in enumerate(world.pods.created):
        assert pod.metadata.generate_name == f"j-{index}-"
        assert pod.metadata.labels["batch.kubernetes.io/job-completion-index"] == str(index)
        assert pod.metadata.finalizers == ["batch.kubernetes.io/job-tracking"]
        assert pod.spec.hostname == f"j-{index}"
        given, own, other = ({each.name: each for each in it.env} for it in pod.spec.containers)
        variable = given["JOB_COMPLETION_INDEX"]
        assert (own["JOB_COMPLETION_INDEX"].value, len(own)) == ("7", 1)
        assert other.keys() == {"HOME", "JOB_COMPLETION_INDEX"}
        path = "metadata.labels['batch.kubernetes.io/job-completion-index']"
        assert variable.value_from.field_ref.field_path == path


async def test_a_status_that_says_the_same_is_not_written() -> None:
    job = job_of(parallelism=2)
    world = World(job, [pod_of(ready=True)])
    for _ in range(2):
        await world.sync()
        job.status = world.status
    world.controller.expectations.expect(JOB, creations=1)
    await world.sync()

    assert (world.status.active, world.status.ready) == (1, 1)
    assert len(world.server.statuses) == 1


async def test_a_job_that_is_gone_is_forgotten() -> None:
    job = job_of()
    world = World(job)
    await world.sync()
    world.remove(job)

    await world.sync()

    assert world.controller.expectations.get(JOB) is None
    assert not world.controller.backoffs
    assert len(world.server.statuses) == 1


async def test_a_finished_job_is_left_as_it_is() -> None:
    done = {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 1}
    world = World(job_of(completions=2, status=done), [pod_of("Succeeded")])
    world.controller.backoffs[KEY] = Backoff(1, NOW)

    await world.sync()

    assert not world.server.statuses
    assert not world.pods.patches
    assert not world.controller.backoffs


@pytest.mark.parametrize(
    ("manager", "synced"), [(None, True), ("kubernetes.io/job-controller", True), ("example.com/other", False)]
)
async def test_a_job_that_another_controller_manages_is_left_to_it(manager: str | None, synced: bool) -> None:
    world = World(job_of(managedBy=manager) if manager else job_of())

    await world.sync()

    assert bool(world.server.statuses) is synced
    assert bool(world.pods.created) is synced


async def test_a_job_whose_mode_nobody_knows_is_told_of_and_left() -> None:
    job = job_of()
    job.spec.completion_mode = "Someday"
    world = World(job)

    await world.sync()

    assert world.recorder.events == [
        "Warning UnknownCompletionMode j: Skipped Job sync because completion mode is unknown"
    ]
    assert not world.pods.created


async def test_a_job_whose_selector_cannot_be_understood_is_logged_and_left() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}
    world = World(job_of(selector=selector))

    await world.sync()

    assert not world.pods.created
    assert not world.server.statuses


async def test_nothing_is_made_while_pods_are_expected() -> None:
    world = World(job_of(parallelism=2, completions=2), [pod_of()])
    world.controller.expectations.expect(JOB, creations=1)

    await world.sync()

    assert not world.pods.created
    assert world.status.active == 1


async def test_a_job_waits_before_it_replaces_a_failed_pod() -> None:
    world = World(job_of(), [pod_of("Failed", ended=NOW)])

    await world.sync()

    assert not world.pods.created
    assert world.looks_again_in == 10
    assert world.controller.backoffs[KEY] == Backoff(1, NOW)


@pytest.mark.parametrize(("ready", "active"), [(True, 1), (False, None)])
async def test_no_more_pods_are_ready_than_active_while_a_job_waits(ready: bool, active: int | None) -> None:
    pods = [pod_of("Failed", ended=NOW), pod_of(ready=ready)]
    world = World(job_of(parallelism=2, completions=5), pods)

    await world.sync()

    assert (world.status.active, world.status.ready) == (active, int(ready))
    assert world.looks_again_in == 10


@pytest.mark.parametrize(("failures", "wait"), [(1, 10), (2, 20), (3, 40), (7, 600), (40, 600)])
async def test_the_wait_doubles_with_each_failure_up_to_ten_minutes(failures: int, wait: int) -> None:
    pods = [pod_of("Failed", ended=NOW) for _ in range(failures)]
    world = World(job_of(backoff_limit=100), pods)

    await world.sync()

    assert world.looks_again_in == wait
    world.clock.turn(wait)
    for pod in pods:
        world.remove(pod)
    await world.sync()
    assert len(world.pods.created) == 1


async def test_a_success_forgives_the_failures_before_it() -> None:
    world = World(job_of(parallelism=2, completions=5), [pod_of("Failed", ended=NOW)])
    await world.sync()
    world.put(pod_of("Succeeded", ended=NOW + timedelta(seconds=1)))

    await world.sync()

    assert world.controller.backoffs[KEY] == Backoff()
    assert len(world.pods.created) == 2


async def test_pods_gone_before_their_deletion_count_as_deleted() -> None:
    world = World(job_of(parallelism=1, completions=5), [pod_of(), pod_of()])

    def gone(_: str) -> None:
        raise not_found()

    world.pods.on_delete = gone

    await world.sync()

    assert world.status.active == 1
    assert world.controller.expectations.satisfied(JOB)


async def test_one_sync_makes_and_removes_so_many_pods_at_most() -> None:
    few = World(job_of(parallelism=20, completions=20), most=5)
    many = World(job_of(parallelism=1, completions=20), [pod_of() for _ in range(20)], most=5)

    await few.sync()
    await many.sync()

    assert len(few.pods.created) == 5
    assert len(many.pods.deleted) == 5


async def test_a_manager_that_has_just_started_waits_after_failures_that_are_counted() -> None:
    counted = [
        pod_of("Failed", tracked=False, ended=NOW),
        pod_of("Succeeded", tracked=False, ended=NOW - timedelta(seconds=5)),
        pod_of("Failed", tracked=False, ended=NOW - timedelta(seconds=9)),
    ]
    world = World(job_of(parallelism=2, completions=5, status={"failed": 2, "succeeded": 1}), counted)

    await world.sync()

    assert not world.pods.created
    assert world.looks_again_in == 10
