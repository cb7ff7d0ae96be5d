"""Reading a Job: the names of its labels, annotations and finalizer, and its spec with the API's defaults."""

from __future__ import annotations

from typing import Final

from kinformer.meta import GroupVersionKind
from kinformer.models import V1Job

__all__ = (
    "COMPLETION_INDEX",
    "CONTROLLER_UID_LABEL",
    "INDEX_FAILURES",
    "INDEX_IGNORED_FAILURES",
    "KIND",
    "TRACKING_FINALIZER",
    "backoff_limit",
    "completion_mode",
    "external_manager",
    "is_finished",
    "is_indexed",
    "is_suspended",
    "limits_failures_per_index",
    "parallelism",
    "replaces_only_failed",
    "unknown_completion_mode",
)

KIND: Final = GroupVersionKind("batch", "v1", "Job")
#: The value of spec.managedBy for Jobs that this controller manages. The field may also be empty.
_CONTROLLER_NAME: Final = "kubernetes.io/job-controller"
#: A pod has this finalizer until it is counted in its Job's status.
TRACKING_FINALIZER: Final = "batch.kubernetes.io/job-tracking"
#: The annotation and label with the index of a pod of an Indexed Job.
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
#: The annotations with the earlier failures of the pod's index, counted and ignored, if the Job limits them per index.
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
#: The label by which a Job selects its pods, if the user has not set a selector.
CONTROLLER_UID_LABEL: Final = "batch.kubernetes.io/controller-uid"

_MODES = ("NonIndexed", "Indexed")


def is_indexed(job: V1Job) -> bool:
    return bool(job.spec.completion_mode == "Indexed")


def completion_mode(job: V1Job) -> str:
    return "Indexed" if is_indexed(job) else "NonIndexed"


def unknown_completion_mode(job: V1Job) -> str | None:
    """Return the completion mode if it is unknown here, as from a later version of Kubernetes; otherwise None."""
    mode = job.spec.completion_mode
    return mode if mode is not None and mode not in _MODES else None


def parallelism(job: V1Job) -> int:
    asked: int | None = job.spec.parallelism
    return 1 if asked is None else asked


def backoff_limit(job: V1Job) -> int:
    asked: int | None = job.spec.backoff_limit
    if asked is not None:
        return asked
    return 2**31 - 1 if limits_failures_per_index(job) else 6


def limits_failures_per_index(job: V1Job) -> bool:
    return job.spec.backoff_limit_per_index is not None


def is_suspended(job: V1Job) -> bool:
    return bool(job.spec.suspend)


def replaces_only_failed(job: V1Job) -> bool:
    """
    Whether a pod that is being deleted is replaced and counted only when it has ended.

    Otherwise it is replaced and counted at once.
    """
    return bool(job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None)


def external_manager(job: V1Job) -> str | None:
    """Return the name of the external controller that manages the Job; None if this controller does."""
    manager: str | None = job.spec.managed_by
    return manager if manager is not None and manager != _CONTROLLER_NAME else None


def is_finished(job: V1Job) -> bool:
    """Whether the Job is complete or has failed."""
    conditions = (job.status.conditions if job.status is not None else None) or ()
    return any(condition.type in ("Complete", "Failed") and condition.status == "True" for condition in conditions)
