"""The Job controller's metrics, under kube-controller-manager's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from prometheus_client import Counter, Histogram

from kinformer.clock import Clock
from kinformer.controllerutil.pods import is_pod_terminal
from kinformer.models import V1Job, V1JobStatus, V1Pod
from kinformer_controllers.job.counting import JobPods
from kinformer_controllers.job.intervals import Indexes
from kinformer_controllers.job.jobs import completion_mode, is_indexed, limits_failures_per_index
from kinformer_controllers.job.pods import is_tracked

__all__ = (
    "BY_EXTERNAL_CONTROLLER",
    "FINISHED",
    "HANDLED_FAILURES",
    "STALE_SYNC_SKIPS",
    "TimedSync",
    "count_finished_pods",
    "count_pod_creations",
    "count_tracked_terminated_pod",
    "timed_sync",
)

_PREFIX: Final = "job_controller_"

_SYNC_SECONDS: Final = Histogram(
    f"{_PREFIX}job_sync_duration_seconds",
    "The time it took to sync a job",
    ["completion_mode", "result", "action"],
    buckets=[0.004 * 2**power for power in range(15)],
)
_SYNCS: Final = Counter(f"{_PREFIX}job_syncs", "The number of job syncs", ["completion_mode", "result", "action"])
FINISHED: Final = Counter(
    f"{_PREFIX}jobs_finished", "The number of finished jobs", ["completion_mode", "result", "reason"]
)
BY_EXTERNAL_CONTROLLER: Final = Counter(
    f"{_PREFIX}jobs_by_external_controller",
    "The number of Jobs managed by an external controller",
    ["controller_name"],
)
HANDLED_FAILURES: Final = Counter(
    f"{_PREFIX}pod_failures_handled_by_failure_policy",
    "The number of failed Pods handled by a pod failure policy, by the action of the rule that matched",
    ["action"],
)
_TRACKED_TERMINATED_PODS: Final = Counter(
    f"{_PREFIX}terminated_pods_tracking_finalizer",
    "The number of terminated pods (phase=Failed|Succeeded) that have got or lost the job-tracking finalizer",
    ["event"],
)
_POD_CREATIONS: Final = Counter(
    f"{_PREFIX}job_pods_creation",
    "The number of Pods created by the Job controller, by reason and result",
    ["reason", "status"],
)
STALE_SYNC_SKIPS: Final = Counter(
    f"{_PREFIX}stale_sync_skips",
    "Total number of Job syncs skipped due to a stale watch cache.",
    ["group", "resource"],
)
_PODS_FINISHED: Final = Counter(
    f"{_PREFIX}job_pods_finished",
    "The number of finished Pods that are fully tracked",
    ["completion_mode", "result"],
)
_INDEXES_FINISHED: Final = Counter(
    f"{_PREFIX}job_finished_indexes", "The number of finished indexes", ["status", "backoffLimit"]
)


@dataclass(slots=True)
class TimedSync:
    """
    A sync that is timed.

    :param action: what the sync has done to pods so far
    """

    action: str = "reconciling"


@contextmanager
def timed_sync(job: V1Job, clock: Clock) -> Iterator[TimedSync]:
    """Observe the duration, the action and the result of a sync."""
    began, timed, result = clock.monotonic(), TimedSync(), "error"
    try:
        yield timed
        result = "success"
    finally:
        labels = (completion_mode(job), result, timed.action)
        _SYNC_SECONDS.labels(*labels).observe(clock.monotonic() - began)
        _SYNCS.labels(*labels).inc()


def count_tracked_terminated_pod(old: V1Pod | None, new: V1Pod | None) -> None:
    """Count a terminated pod that has got or lost the tracking finalizer."""
    was, is_ = _is_tracked_and_terminated(old), _is_tracked_and_terminated(new)
    if was != is_:
        _TRACKED_TERMINATED_PODS.labels("add" if is_ else "delete").inc()


def _is_tracked_and_terminated(pod: V1Pod | None) -> bool:
    return pod is not None and is_tracked(pod) and is_pod_terminal(pod)


def count_pod_creations(stock: JobPods, succeeded: int, failed: int) -> None:
    """Count the pods that a sync has tried to create."""
    reason = "new"
    if stock.job.spec.pod_replacement_policy == "Failed" and stock.failed > 0:
        reason = "recreate_failed"
    elif stock.failed > 0 or stock.terminating > 0:
        reason = "recreate_terminating_or_failed"
    if succeeded > 0:
        _POD_CREATIONS.labels(reason, "succeeded").inc(succeeded)
    if failed > 0:
        _POD_CREATIONS.labels(reason, "failed").inc(failed)


def count_finished_pods(job: V1Job, before: V1JobStatus) -> None:
    """
    Count the pods by which a written status exceeds the one before.

    If a Job was scaled down, completed indexes may be lost. Such negative differences are not counted.
    """
    mode, status = completion_mode(job), job.status
    succeeded = (status.succeeded or 0) - (before.succeeded or 0)
    if is_indexed(job):
        completions, limit = job.spec.completions or 0, "perIndex" if limits_failures_per_index(job) else "global"
        succeeded = 0
        if status.completed_indexes != before.completed_indexes:
            succeeded = _count(status.completed_indexes, completions) - _count(before.completed_indexes, completions)
        _INDEXES_FINISHED.labels("succeeded", limit).inc(max(succeeded, 0))
        if limits_failures_per_index(job) and status.failed_indexes != before.failed_indexes:
            failed = _count(status.failed_indexes, completions) - _count(before.failed_indexes, completions)
            _INDEXES_FINISHED.labels("failed", limit).inc(max(failed, 0))
    _PODS_FINISHED.labels(mode, "succeeded").inc(max(succeeded, 0))
    _PODS_FINISHED.labels(mode, "failed").inc(max((status.failed or 0) - (before.failed or 0), 0))


def _count(text: str | None, completions: int) -> int:
    return Indexes.parse(text, completions).count
