"""What becomes of Jobs and their pods, in numbers."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import REGISTRY

from kinformer.client.errors import Forbidden
from kinformer.models import V1Pod
from tests.controllers.job.world import NOW, World, job_of, pod_of
from tests.controllers.objects import forbidden

PREFIX = "job_controller_"
NAMES = ("job_syncs", "jobs_finished", "job_pods_creation", "job_pods_finished", "job_finished_indexes")


def counted() -> dict[tuple[str, ...], float]:
    """The counters, each by its name and the values of its labels."""
    names = [f"{PREFIX}{name}_total" for name in NAMES]
    return {
        (sample.name.removeprefix(PREFIX).removesuffix("_total"), *sample.labels.values()): sample.value
        for family in REGISTRY.restricted_registry(names).collect()
        for sample in family.samples
        if sample.value
    }


def ended(phase: str, index: int | None = None) -> V1Pod:
    return pod_of(phase, index=index, ended=NOW - timedelta(hours=1))


CASES: dict[str, tuple[dict[str, Any], list[V1Pod], dict[tuple[str, ...], float]]] = {
    "new pods, of which two are refused": (
        {"parallelism": 3, "completions": 3},
        [],
        {
            ("job_syncs", "NonIndexed", "error", "pods_created"): 1,
            ("job_pods_creation", "new", "succeeded"): 1,
            ("job_pods_creation", "new", "failed"): 2,
        },
    ),
    "a pod is made again at once": (
        {},
        [ended("Failed")],
        {
            ("job_syncs", "NonIndexed", "success", "pods_created"): 1,
            ("job_pods_creation", "recreate_terminating_or_failed", "succeeded"): 1,
            ("job_pods_finished", "NonIndexed", "failed"): 1,
        },
    ),
    "a pod is made again when it has failed": (
        {"podReplacementPolicy": "Failed"},
        [ended("Failed")],
        {
            ("job_syncs", "NonIndexed", "success", "pods_created"): 1,
            ("job_pods_creation", "recreate_failed", "succeeded"): 1,
            ("job_pods_finished", "NonIndexed", "failed"): 1,
        },
    ),
    "a Job completes": (
        {"completions": 2},
        [ended("Succeeded"), ended("Succeeded")],
        {
            ("job_syncs", "NonIndexed", "success", "tracking"): 1,
            ("jobs_finished", "NonIndexed", "succeeded", "CompletionsReached"): 1,
            ("job_pods_finished", "NonIndexed", "succeeded"): 2,
        },
    ),
    "indexes end, and the Job with them": (
        {"parallelism": 3, "completions": 3, "indexed": True, "backoff_limit": 99, "backoffLimitPerIndex": 0},
        [ended("Succeeded", 0), ended("Failed", 1), ended("Succeeded", 2)],
        {
            ("job_syncs", "Indexed", "success", "reconciling"): 1,
            ("jobs_finished", "Indexed", "failed", "FailedIndexes"): 1,
            ("job_pods_finished", "Indexed", "succeeded"): 2,
            ("job_pods_finished", "Indexed", "failed"): 1,
            ("job_finished_indexes", "succeeded", "perIndex"): 2,
            ("job_finished_indexes", "failed", "perIndex"): 1,
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_syncs_pods_and_ends_of_jobs_are_counted(name: str) -> None:
    job, pods, expected = CASES[name]
    world = World(job_of(**job), pods)

    def create() -> None:
        if world.pods.created:
            raise forbidden("one is enough")

    world.pods.on_create = create
    before = counted()
    with suppress(Forbidden):
        await world.sync()

    now = counted()
    assert {key: now[key] - before.get(key, 0) for key in now if now[key] != before.get(key)} == expected
