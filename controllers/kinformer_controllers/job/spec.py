"""The Job controller, as kube-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("JobOptions", "SPEC")


@dataclass(frozen=True)
class JobOptions:
    concurrent_job_syncs: int = workers(5, "Jobs")


SPEC: Final = ControllerSpec(
    name="job-controller",
    aliases=("job",),
    summary="runs pods that end, and counts each once",
    factory="kinformer_controllers.job.controller:JobController",
    options=JobOptions,
    permissions=(
        allow("get list watch", "jobs.batch"),
        allow("update", "jobs.batch/status"),
        allow("list watch create delete patch", "pods"),
        # Its pods have owner references with blockOwnerDeletion. Some servers require this permission for them.
        allow("update", "jobs.batch/finalizers"),
        RECORD_EVENTS,
    ),
    metrics=(
        "job_controller_job_finished_indexes_total",
        "job_controller_job_pods_creation_total",
        "job_controller_job_pods_finished_total",
        "job_controller_job_sync_duration_seconds",
        "job_controller_job_syncs_total",
        "job_controller_jobs_by_external_controller_total",
        "job_controller_jobs_finished_total",
        "job_controller_pod_failures_handled_by_failure_policy_total",
        "job_controller_stale_sync_skips_total",
        "job_controller_terminated_pods_tracking_finalizer_total",
    ),
    sharded_by="owner",
    page="job.md",
    differs=(
        "if a cache is behind, a sync waits for it and does not fail; no Workloads and PodGroups, which are alpha"
    ),
)
