"""The kind of a Job, and the names of its labels, annotations and finalizer."""

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
#: The value of spec.managedBy for Jobs that this controller manages. The field may also be empty.
CONTROLLER_NAME: Final = "kubernetes.io/job-controller"
#: A pod has this finalizer until it is counted in its Job's status.
TRACKING_FINALIZER: Final = "batch.kubernetes.io/job-tracking"
#: The annotation and label with the index of a pod of an Indexed Job.
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
#: The annotations with the earlier failures of the pod's index, counted and ignored, if the Job limits them per index.
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
#: The label by which a Job selects its pods, if the user has not set a selector.
CONTROLLER_UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
