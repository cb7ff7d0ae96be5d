"""The fields of a Deployment and a Job, changed in both directions. What is meant to be so is declared, and why."""

from __future__ import annotations

from typing import Any

from kinformer.simulation import Checks, World, WorldOptions
from kinformer.simulation.schema import Change, Subject, try_fields

CONTAINER = {"name": "c", "image": "web:1"}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}},
    },
}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j"},
    "spec": {
        "parallelism": 2,
        "completions": 3,
        "template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}},
    },
}
ANNOTATIONS = Checks(
    may_differ=[
        # Each rollout has the next number, also one that goes back.
        "*:metadata.annotations[deployment.kubernetes.io/revision]",
        # Written when a ReplicaSet is made or scaled, and so not when maxSurge alone changes.
        "replicasets.apps/*:metadata.annotations[deployment.kubernetes.io/max-replicas]",
    ]
)


def subject(controllers: list[str], obj: dict[str, Any], *fields: str, **more: Any) -> Subject:
    def begin(world: World) -> None:
        world.manager(controllers)

    return Subject(begin, [obj], fields, options=WorldOptions(nodes=1, patience=300), **more)


def test_the_fields_of_a_deployment_work_in_both_directions() -> None:
    fields = ("spec.paused", "spec.strategy")
    rollout = Change.parse('spec.template.spec.containers.0.image="web:2"')
    # A Deployment that is paused from its beginning makes no pods. One that is paused later keeps those it has.
    one_way = ["spec.paused"]

    report = try_fields(
        subject(["deployment", "replicaset"], DEPLOYMENT, *fields, one_way=one_way, steps=[rollout], checks=ANNOTATIONS)
    )

    assert report.is_clean, report
    assert [f"spec.strategy.{name}" in report.tried for name in ("type", "rollingUpdate.maxSurge")] == [True, True]


def test_the_fields_of_a_job_work_in_both_directions() -> None:
    # A resumed Job keeps the condition Suspended with the status False.
    report = try_fields(
        subject(["job"], JOB, "spec.parallelism", "spec.completionMode", "spec.suspend", one_way=["spec.suspend"])
    )

    assert report.is_clean, report
    assert list(report.tried) == ["spec.completionMode", "spec.parallelism", "spec.suspend"]
