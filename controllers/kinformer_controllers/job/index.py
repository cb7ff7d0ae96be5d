"""An index of the pods that matter to a Job, without those that are done.

A Job's pods still exist after they have succeeded and were counted. At the end of a Job with 10,000 completions nearly
all pods are done. A sync does not need them, so this index leaves them out. So the cost of a sync depends only on the
pods that run or are to be counted. A pod is left out only if its label still has the Job's uid; a pod that the Job has
to release is found.
"""

from __future__ import annotations

from typing import Final

from kinformer.cache import Indexer, SharedIndexInformer
from kinformer.controllerutil.owning import controller_of
from kinformer.models import V1Job, V1Pod
from kinformer_controllers.job.names import CONTROLLER_UID_LABEL, KIND
from kinformer_controllers.job.pods import is_tracked, phase_of

__all__ = ("add_job_pod_index", "done_pods_of_job", "pods_of_job", "pods_of_nobody", "pods_of_uid")

_INDEX: Final = "jobPods"


def add_job_pod_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Add the index of pods by their Job. If the informer already has it, nothing happens."""
    if _INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({_INDEX: _job_uid})


def pods_of_job(indexer: Indexer[V1Pod], job: V1Job) -> list[V1Pod]:
    """Return the pods of a Job that matter, and those of its namespace without a controller, which it might adopt."""
    meta = job.metadata
    return [*pods_of_uid(indexer, meta.namespace, meta.uid), *pods_of_nobody(indexer, meta.namespace)]


def pods_of_uid(indexer: Indexer[V1Pod], namespace: str, uid: str) -> list[V1Pod]:
    """Return the pods that matter of the Job with that uid. The Job itself may be gone."""
    return indexer.by_index(_INDEX, f"{namespace}/{uid}")


def done_pods_of_job(indexer: Indexer[V1Pod], job: V1Job) -> list[V1Pod]:
    """Return the pods of a Job that have succeeded and were counted: those that :func:`pods_of_job` leaves out."""
    return indexer.by_index(_INDEX, f"{job.metadata.namespace}/{job.metadata.uid}/done")


def pods_of_nobody(indexer: Indexer[V1Pod], namespace: str) -> list[V1Pod]:
    """Return the pods of a namespace without a controller."""
    return indexer.by_index(_INDEX, namespace)


def _job_uid(pod: V1Pod) -> tuple[str, ...] | str:
    reference = controller_of(pod)
    if reference is None:
        return pod.metadata.namespace or ""
    if reference.kind != KIND.kind:
        return ()
    if not is_tracked(pod) and phase_of(pod) == "Succeeded":
        labels = pod.metadata.labels or {}
        if labels.get(CONTROLLER_UID_LABEL) == reference.uid:
            return f"{pod.metadata.namespace}/{reference.uid}/done"
    return f"{pod.metadata.namespace}/{reference.uid}"
