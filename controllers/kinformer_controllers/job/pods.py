"""Reading the pods of a Job, and finding those that matter to it.

First what one pod says: its index, its failures, whether it has failed, and when it ended. Then an index of a Job's
pods without those that are done. They still exist after they have succeeded and were counted: at the end of a Job with
10,000 completions these are nearly all. A sync does not need them, so its cost depends only on the pods that run or
are to be counted. A pod is left out only if its label still has the Job's uid; a pod that the Job has to release is
found.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from kinformer.cache import Indexer, SharedIndexInformer
from kinformer.controllerutil.owning import controller_of
from kinformer.controllerutil.pods import pod_phase, pod_status, ready_condition
from kinformer.logs import get_logger
from kinformer.meta.integers import duration_of, read_integer
from kinformer.models import V1ContainerStatus, V1Job, V1Pod
from kinformer_controllers.job.jobs import (
    COMPLETION_INDEX,
    CONTROLLER_UID_LABEL,
    INDEX_FAILURES,
    INDEX_IGNORED_FAILURES,
    KIND,
    TRACKING_FINALIZER,
    replaces_only_failed,
)

__all__ = (
    "absolute_index_failures",
    "add_job_pod_index",
    "completion_index",
    "done_pods_of_job",
    "finished_at",
    "index_failures",
    "index_ignored_failures",
    "is_pod_failed",
    "is_tracked",
    "pods_of_job",
    "pods_of_nobody",
    "pods_of_uid",
    "restarts_of",
    "valid_index",
)

log = get_logger(__name__)

_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)

_INDEX: Final = "jobPods"


def is_tracked(pod: V1Pod) -> bool:
    """Whether the pod has the finalizer that keeps it until it is counted."""
    return TRACKING_FINALIZER in (pod.metadata.finalizers or ())


def is_pod_failed(pod: V1Pod, job: V1Job) -> bool:
    phase = pod_phase(pod)
    if phase == "Failed":
        return True
    # A pod that is being deleted may never get the phase Failed, because its node is gone.
    return bool(pod.metadata.deletion_timestamp) and phase != "Succeeded" and not replaces_only_failed(job)


def completion_index(pod: V1Pod) -> int | None:
    """Return the index of a pod of an Indexed Job; None if it has no valid one."""
    annotations = pod.metadata.annotations
    text = annotations.get(COMPLETION_INDEX) if annotations else None
    index = read_integer(text) if text is not None else None
    return index if index is not None and index >= 0 else None


def valid_index(pod: V1Pod, job: V1Job) -> int | None:
    """Return the pod's index, if it is below the Job's completions; otherwise None."""
    index = completion_index(pod)
    return index if index is not None and index < (job.spec.completions or 0) else None


def index_failures(pod: V1Pod) -> int:
    """Return how many failures of its index before this pod were counted."""
    return _count(pod, INDEX_FAILURES)


def index_ignored_failures(pod: V1Pod) -> int:
    """Return how many failures of its index before this pod were ignored by the failure policy."""
    return _count(pod, INDEX_IGNORED_FAILURES)


def absolute_index_failures(pod: V1Pod) -> int:
    return index_failures(pod) + index_ignored_failures(pod)


def _count(pod: V1Pod, annotation: str) -> int:
    text = (pod.metadata.annotations or {}).get(annotation)
    if text is None:
        return 0
    count = read_integer(text)
    if count is None or not 0 <= count < 2**31:
        log.info("pod_annotation_invalid", pod=pod.metadata.name, annotation=annotation, value=text)
        return 0
    return count


def restarts_of(pod: V1Pod) -> int:
    """Return the number of restarts of all its containers together."""
    status = pod_status(pod)
    if status is None:
        return 0
    states = (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    return sum(state.restart_count or 0 for state in states)


def finished_at(pod: V1Pod) -> datetime:
    """
    Return when a pod ended.

    This is the end of its last container; or the time when it stopped being ready; or the time of its deletion; or, if
    none of these is known, its creation time.
    """
    meta = pod.metadata
    if (ended := _containers_ended(pod)) is not None:
        return ended
    condition = ready_condition(pod)
    if condition is not None and condition.status == "False" and condition.last_transition_time is not None:
        return condition.last_transition_time
    if meta.deletion_timestamp is not None:
        asked: datetime = meta.deletion_timestamp - duration_of(meta.deletion_grace_period_seconds or 0)
        return asked
    return meta.creation_timestamp or _LONG_AGO


def _containers_ended(pod: V1Pod) -> datetime | None:
    """Return when the last container or sidecar ended; None if one has not ended, or there is none."""
    status = pod_status(pod)
    if status is None:
        return None
    spec = pod.spec
    containers = (spec.init_containers if spec is not None else None) or ()
    sidecars = {container.name for container in containers if container.restart_policy == "Always"}
    regular, known = _latest(status.container_statuses or ())
    of_sidecars, all_known = _latest(state for state in status.init_container_statuses or () if state.name in sidecars)
    if not all_known:
        return None
    if not known:
        # A regular container has not ended. Then only the end of the sidecars counts, if there are any.
        return of_sidecars
    return max((moment for moment in (regular, of_sidecars) if moment is not None), default=None)


def _latest(states: Iterable[V1ContainerStatus]) -> tuple[datetime | None, bool]:
    """Return the latest end, and whether all have ended."""
    latest: datetime | None = None
    for state in states:
        terminated = state.state.terminated if state.state is not None else None
        if terminated is None or terminated.finished_at is None:
            return None, False
        latest = terminated.finished_at if latest is None else max(latest, terminated.finished_at)
    return latest, True


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
    if not is_tracked(pod) and pod_phase(pod) == "Succeeded":
        labels = pod.metadata.labels or {}
        if labels.get(CONTROLLER_UID_LABEL) == reference.uid:
            return f"{pod.metadata.namespace}/{reference.uid}/done"
    return f"{pod.metadata.namespace}/{reference.uid}"
