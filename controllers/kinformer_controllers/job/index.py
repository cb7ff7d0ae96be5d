"""The pods that matter to a Job, found without looking at those that are done.

A Job's pods stay after they have succeeded and are counted: at the end of a Job of 10,000 completions these are nearly
all. No step of a sync has any use for them, so this index leaves them out, and a sync costs as much as there are pods
at work and pods to count. Their labels must show that they are the Job's still: one that it has to release is found.
"""

from __future__ import annotations

from typing import Final

from kinformer.cache import Indexer, SharedIndexInformer
from kinformer.models import V1Job, V1Pod
from kinformer_controllers.job.names import CONTROLLER_UID_LABEL, KIND
from kinformer_controllers.job.pods import is_tracked, phase_of
from kinformer_controllers.shared.owning.owners import controller_of

__all__ = ("add_job_pod_index", "done_pods_of_job", "pods_of_job", "pods_of_nobody", "pods_of_uid")

_INDEX: Final = "jobPods"


def add_job_pod_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Have pods found by their Job; done once, however many controllers of one factory ask for it."""
    if _INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({_INDEX: _job_uid})


def pods_of_job(indexer: Indexer[V1Pod], job: V1Job) -> list[V1Pod]:
    """The pods of a Job that matter, and those of its namespace that are nobody's: it might adopt them."""
    meta = job.metadata
    return [*pods_of_uid(indexer, meta.namespace, meta.uid), *pods_of_nobody(indexer, meta.namespace)]


def pods_of_uid(indexer: Indexer[V1Pod], namespace: str, uid: str) -> list[V1Pod]:
    """The pods that matter of the Job with that uid, which need not be there any more."""
    return indexer.by_index(_INDEX, f"{namespace}/{uid}")


def done_pods_of_job(indexer: Indexer[V1Pod], job: V1Job) -> list[V1Pod]:
    """The pods of a Job that have succeeded and are counted: all those that :func:`pods_of_job` leaves out."""
    return indexer.by_index(_INDEX, f"{job.metadata.namespace}/{job.metadata.uid}/done")


def pods_of_nobody(indexer: Indexer[V1Pod], namespace: str) -> list[V1Pod]:
    """The pods of a namespace that no controller owns."""
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
