"""What a Job is called, and the names that it and its pods carry."""

from __future__ import annotations

from typing import Final

from kinformer.meta import GroupVersionKind

__all__ = (
    "COMPLETION_INDEX",
    "CONTROLLER_NAME",
    "CONTROLLER_UID_LABEL",
    "INDEX_FAILURES",
    "INDEX_IGNORED_FAILURES",
    "KIND",
    "TRACKING_FINALIZER",
)

KIND: Final = GroupVersionKind("batch", "v1", "Job")
#: What spec.managedBy says of the Jobs that are this controller's, if it says anything.
CONTROLLER_NAME: Final = "kubernetes.io/job-controller"
#: A pod has this until it is counted in its Job's status.
TRACKING_FINALIZER: Final = "batch.kubernetes.io/job-tracking"
#: Annotation and label: the index of a pod of an Indexed Job.
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
#: Annotations of a pod whose Job limits failures per index: failures of the index before it, counted and ignored ones.
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
#: The label by which a Job selects its pods, where its user has not said otherwise.
CONTROLLER_UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
