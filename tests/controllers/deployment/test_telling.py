"""Annotations, templates, conditions and status: what is written down of a roll-out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.models import V1DeploymentStatus, V1PodTemplateSpec, V1ReplicaSet, from_dict
from kinformer_controllers.deployment.annotations import (
    DESIRED_REPLICAS,
    REVISION,
    REVISION_HISTORY,
    annotations_for,
    count_in,
    last_revision,
    max_revision,
    replicas_annotations,
    revision_of,
    rolled_back_annotations,
)
from kinformer_controllers.deployment.rollout import (
    TemplateMemory,
    find_new,
    find_old,
    replica_set_name,
    same_template,
    template_hash,
)
from kinformer_controllers.deployment.status import (
    NEW_AVAILABLE,
    PROGRESSING,
    condition,
    is_complete,
    is_progressing,
    is_timed_out,
    next_progress_check,
    paused_condition,
    rollout_status,
    same_status,
    status_of,
)
from tests.controllers.deployment.making import make_deployment, make_replica_set

NOW = datetime(2026, 1, 28, 12, tzinfo=UTC)


def template(**changes: Any) -> V1PodTemplateSpec:
    made: dict[str, Any] = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return from_dict(V1PodTemplateSpec, {**made, **changes})


def status(**counts: Any) -> V1DeploymentStatus:
    return V1DeploymentStatus(**counts)


def progressing(state: str, reason: str, ago: float = 0.0) -> Any:
    return condition(PROGRESSING, state, reason, "", NOW - timedelta(seconds=ago))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"app": "web"}, {"app": "web", "pod-template-hash": "h"}, True),
        ({"app": "web", "pod-template-hash": "g"}, {"app": "web", "pod-template-hash": "h"}, True),
        ({"app": "web"}, {"app": "db"}, False),
        ({"app": "web", "more": "x"}, {"app": "web"}, False),
        ({}, {}, True),
        ({"pod-template-hash": "h"}, {}, True),
    ],
)
def test_templates_are_compared_without_their_hash(one: dict[str, str], other: dict[str, str], same: bool) -> None:
    assert same_template(template(metadata={"labels": one}), template(metadata={"labels": other})) is same


def test_templates_that_mean_the_same_are_the_same() -> None:
    def of(amount: str, **more: Any) -> V1PodTemplateSpec:
        resources = {"limits": {"cpu": amount}}
        return template(spec={"containers": [{"name": "c", "image": "i", "resources": resources}], **more})

    assert same_template(of("1"), of("1000m", volumes=[], nodeSelector={}))
    assert not same_template(of("1"), of("1001m"))
    assert not same_template(of("1"), of("1", hostNetwork=True))
    # An empty object is not a missing one, and texts that look like quantities are texts.
    assert not same_template(of("1"), of("1", securityContext={}))
    assert not same_template(of("1", nodeSelector={"limits": "1000m"}), of("1", nodeSelector={"limits": "1"}))
    spread = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
    constraints = [{"topologySpreadConstraints": [{**spread, **more}]} for more in ({}, {"labelSelector": {}})]
    assert not same_template(of("1", **constraints[0]), of("1", **constraints[1]))


def test_the_new_replica_set_is_the_templates_oldest_and_others_old() -> None:
    older, newer = make_replica_set("older", 1, age=3), make_replica_set("newer", 1, age=1)
    other = make_replica_set("other", 1, age=2, image="img:0")
    deployment = make_deployment()

    new = find_new(deployment, [newer, other, older])

    assert new is older
    assert find_old([newer, other, older], new) == [other, newer]
    assert find_new(deployment, [other]) is None


def test_which_is_the_new_one_is_remembered_until_a_spec_changes() -> None:
    memory, deployment = TemplateMemory(), make_deployment()
    replica_set = make_replica_set("a", 1)
    assert memory.comparing("ns/web")(deployment, replica_set)

    # Nobody changes objects of a cache; what is not looked at is not noticed.
    replica_set.spec.template.spec.containers[0].image = "img:9"
    assert memory.comparing("ns/web")(deployment, replica_set)
    replica_set.metadata.generation = 2
    assert not memory.comparing("ns/web")(deployment, replica_set)
    memory.forget("ns/web")
    assert not memory.comparing("ns/web")(deployment, replica_set)


def test_a_hash_covers_template_and_collisions_and_fits_a_name() -> None:
    hashes = {template_hash(template(), None), template_hash(template(), 0), template_hash(template(), 1)}

    assert len(hashes) == 3
    assert template_hash(template(), 1) == template_hash(template(), 1)
    assert replica_set_name("web", "abc") == "web-abc"
    assert replica_set_name("x" * 300, "abc") == f"{'x' * 249}-abc"


def test_revisions_are_numbers_and_what_is_none_does_not_count() -> None:
    sets = [make_replica_set(f"a{i}", 1, annotations={REVISION: it}) for i, it in enumerate(["1", "x", "7", "3"])]
    unnumbered = make_replica_set("b", 1)

    assert (max_revision(sets), last_revision(sets)) == (7, 3)
    assert (revision_of(sets[1]), revision_of(unnumbered)) == (None, 0)
    assert (max_revision([]), last_revision([unnumbered])) == (0, 0)


@pytest.mark.parametrize(
    ("text", "count"), [("0", 0), ("7", 7), ("2147483647", 2147483647), ("2147483648", None), ("-1", None), ("x", None)]
)
def test_a_number_of_replicas_is_not_negative_and_has_32_bits(text: str, count: int | None) -> None:
    assert count_in(make_replica_set("a", 1, annotations={DESIRED_REPLICAS: text}), DESIRED_REPLICAS) == count
    assert count_in(make_replica_set("a", 1), DESIRED_REPLICAS) is None


def test_the_new_replica_set_has_the_deployments_annotations_except_its_own() -> None:
    deployment = make_deployment(
        annotations={"note": "x", REVISION: "9", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    )

    assert annotations_for(deployment, {}, 4) == {"note": "x", REVISION: "4"}
    assert annotations_for(deployment, {"note": "y", REVISION: "4"}, 4) == {"note": "x", REVISION: "4"}
    assert annotations_for(deployment, {REVISION: "5"}, 4) == {"note": "x", REVISION: "5"}
    assert annotations_for(deployment, {REVISION: "five"}, 4) == {REVISION: "five"}


def test_a_rollback_takes_the_replica_sets_annotations_and_keeps_its_own() -> None:
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    deployment = make_deployment(annotations={"note": "new", applied: "{}"})
    replica_set = make_replica_set("old", 1, annotations={"note": "old", applied: "other", REVISION: "1"})

    assert rolled_back_annotations(deployment, replica_set) == {"note": "old", applied: "{}"}


def test_a_rollbacks_revision_numbers_are_kept_as_far_as_they_fit() -> None:
    deployment = make_deployment()

    once = annotations_for(deployment, {REVISION: "1"}, 3)
    twice = annotations_for(deployment, {**once}, 5)
    long = annotations_for(deployment, {REVISION: "8", REVISION_HISTORY: ",".join(["1234"] * 400)}, 9)

    assert (once[REVISION], once[REVISION_HISTORY]) == ("3", "1")
    assert (twice[REVISION], twice[REVISION_HISTORY]) == ("5", "1,3")
    assert long[REVISION_HISTORY].endswith("1234,8")
    assert 1990 < len(long[REVISION_HISTORY]) <= 2000


def test_replica_sets_remember_how_large_their_deployment_was() -> None:
    assert list(replicas_annotations(make_deployment(10, surge="25%")).values()) == ["10", "13"]


@pytest.mark.parametrize(
    ("counts", "complete"),
    [
        ({"replicas": 5, "updated_replicas": 5, "available_replicas": 5}, True),
        ({"replicas": 5, "updated_replicas": 5, "available_replicas": 4}, False),
        ({"replicas": 6, "updated_replicas": 5, "available_replicas": 5}, False),
        ({"replicas": 5, "updated_replicas": 4, "available_replicas": 5}, False),
    ],
)
def test_it_is_complete_when_all_pods_are_new_and_available(counts: dict[str, int], complete: bool) -> None:
    assert is_complete(make_deployment(5), status(observed_generation=1, **counts)) is complete
    assert not is_complete(make_deployment(5), status(observed_generation=0, **counts))


@pytest.mark.parametrize(
    ("old", "new", "progress"),
    [
        ({"replicas": 10, "updated_replicas": 4}, {"replicas": 10, "updated_replicas": 6}, True),
        ({"replicas": 10, "updated_replicas": 4}, {"replicas": 10, "updated_replicas": 4}, False),
        ({"replicas": 10, "updated_replicas": 4}, {"replicas": 8, "updated_replicas": 4}, True),
        ({"replicas": 10, "updated_replicas": 4}, {"replicas": 11, "updated_replicas": 4}, False),
        ({"replicas": 4, "ready_replicas": 1}, {"replicas": 4, "ready_replicas": 2}, True),
        ({"replicas": 4, "available_replicas": 1}, {"replicas": 4, "available_replicas": 2}, True),
        ({"replicas": 4, "available_replicas": 2}, {"replicas": 4, "available_replicas": 1}, False),
    ],
)
def test_more_new_ready_or_available_pods_or_fewer_old_ones_are_progress(
    old: dict[str, int], new: dict[str, int], progress: bool
) -> None:
    assert is_progressing(status(**old), status(**new)) is progress


@pytest.mark.parametrize(
    ("deadline", "reason", "ago", "timed_out"),
    [
        (None, "", 11, False),
        (2**31 - 1, "", 11, False),
        (10, "", 11, True),
        (10, "", 9, False),
        (10, NEW_AVAILABLE, 1000, False),
        (10, "ProgressDeadlineExceeded", 0, True),
    ],
)
def test_it_has_timed_out_when_there_was_no_progress_for_so_long(
    deadline: int | None, reason: str, ago: float, timed_out: bool
) -> None:
    deployment = make_deployment(progressDeadlineSeconds=deadline)

    assert is_timed_out(deployment, [progressing("True", reason, ago)], NOW) is timed_out
    assert not is_timed_out(deployment, [], NOW)


def test_the_deadline_is_checked_when_passed_unless_nothing_is_awaited() -> None:
    deployment, going = make_deployment(3, progressDeadlineSeconds=600), status(replicas=1)
    done = status(replicas=3, updated_replicas=3, available_replicas=3, observed_generation=1)

    assert next_progress_check(deployment, [progressing("True", "ReplicaSetUpdated", 60)], going, NOW) == 541
    assert next_progress_check(deployment, [progressing("True", "ReplicaSetUpdated", 700)], going, NOW) == 1
    assert next_progress_check(deployment, [progressing("True", "ReplicaSetUpdated", 60)], done, NOW) is None
    assert next_progress_check(deployment, [progressing("False", "ProgressDeadlineExceeded")], going, NOW) is None
    assert next_progress_check(deployment, [progressing("True", NEW_AVAILABLE, 700)], going, NOW) is None
    assert next_progress_check(deployment, [], going, NOW) is None
    assert next_progress_check(make_deployment(3), [progressing("True", "x")], going, NOW) is None


def test_pausing_and_resuming_are_told_once_and_not_over_a_time_out() -> None:
    paused = make_deployment(paused=True, progressDeadlineSeconds=600)
    going = make_deployment(progressDeadlineSeconds=600)
    is_paused = progressing("Unknown", "DeploymentPaused")

    def reason(deployment: Any, *conditions: Any) -> str | None:
        told = paused_condition(deployment, list(conditions), NOW)
        return told.reason if told is not None else None

    assert reason(paused) == "DeploymentPaused"
    assert reason(paused, is_paused) is None
    assert reason(going, is_paused) == "DeploymentResumed"
    assert reason(going, progressing("True", "ReplicaSetUpdated")) is None
    assert reason(paused, progressing("False", "ProgressDeadlineExceeded")) is None
    assert reason(make_deployment(paused=True)) is None


def test_each_progress_counts_from_anew_and_keeps_the_time_of_its_transition() -> None:
    since = NOW - timedelta(hours=1)
    deployment = make_deployment(3, progressDeadlineSeconds=600, status={"replicas": 1, "updatedReplicas": 1})
    had = status_of(deployment)
    had.conditions = [condition(PROGRESSING, "True", "ReplicaSetUpdated", "", since)]

    computed = rollout_status(deployment, had, make_replica_set("new", 2), [], NOW)

    (progress,) = [each for each in computed.conditions if each.type == PROGRESSING]
    assert progress.message == 'ReplicaSet "new" is progressing.'
    assert (progress.last_update_time, progress.last_transition_time) == (NOW, since)


def test_complete_and_timed_out_roll_outs_say_so_unless_without_deadline() -> None:
    def told(deployment: Any, available: int, *conditions: Any) -> Any:
        new = make_replica_set("new", 3, available=available, status={"readyReplicas": 3})
        had = status(replicas=3, updated_replicas=3, ready_replicas=3, available_replicas=3, conditions=[*conditions])
        found = rollout_status(deployment, had, new, [], NOW).conditions
        return {each.type: (each.status, each.reason) for each in found}

    deployment = make_deployment(3, progressDeadlineSeconds=600)
    stuck = progressing("True", "ReplicaSetUpdated", 700)

    assert told(deployment, 3, stuck)[PROGRESSING] == ("True", NEW_AVAILABLE)
    assert told(deployment, 2, stuck)[PROGRESSING] == ("False", "ProgressDeadlineExceeded")
    assert told(deployment, 1, stuck)["Available"] == ("False", "MinimumReplicasUnavailable")
    assert PROGRESSING not in told(make_deployment(3), 3, stuck)


def test_pods_that_come_back_after_a_roll_out_are_no_progress() -> None:
    deployment = make_deployment(3, progressDeadlineSeconds=600)
    over = progressing("True", NEW_AVAILABLE, 700)
    had = status(replicas=3, updated_replicas=3, ready_replicas=1, available_replicas=1, conditions=[over])
    new = make_replica_set("new", 3, available=2, status={"readyReplicas": 2})

    def reason(*old: V1ReplicaSet) -> str:
        found = rollout_status(deployment, had, new, old, NOW).conditions
        return next(each.reason for each in found if each.type == PROGRESSING)

    assert reason() == NEW_AVAILABLE
    assert reason(make_replica_set("old", 1)) == "ReplicaSetUpdated"


def test_a_replica_sets_failure_is_the_deployments_condition_until_it_ends() -> None:
    failure = {
        "conditions": [
            {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": "FailedCreate",
                "message": "quota",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ]
    }
    deployment = make_deployment(3)
    failing, well = make_replica_set("new", 3, status=failure), make_replica_set("new", 3)

    failed = rollout_status(deployment, status(), failing, [], NOW)
    (told,) = [each for each in failed.conditions if each.type == "ReplicaFailure"]
    assert (told.reason, told.message) == ("FailedCreate", "quota")
    assert "ReplicaFailure" not in [each.type for each in rollout_status(deployment, failed, well, [], NOW).conditions]


def test_pods_that_terminate_are_told_unless_a_replica_set_does_not_tell() -> None:
    deployment = make_deployment(3)
    telling = make_replica_set("a", 1, status={"terminatingReplicas": 2})
    unsynced = make_replica_set("b", 1, status={"observedGeneration": 0})
    silent, bare = make_replica_set("c", 1), make_replica_set("d", 1)
    bare.status = None

    assert rollout_status(deployment, status(), telling, [unsynced, bare, telling], NOW).terminating_replicas == 4
    assert rollout_status(deployment, status(), telling, [silent], NOW).terminating_replicas is None


def test_a_status_that_says_the_same_in_other_words_is_not_written() -> None:
    assert same_status(status(replicas=0, conditions=[]), status())
    assert not same_status(status(terminating_replicas=0), status())
    assert not same_status(None, status())
