"""Computing a StatefulSet's status from its pods, and writing it if it has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from kinformer.client import Resource
from kinformer.controllerutil.writing import write_status
from kinformer.models import V1Pod, V1StatefulSet, V1StatefulSetStatus
from kinformer_controllers.statefulset.plan import is_available, is_created, is_running_and_ready, is_terminating
from kinformer_controllers.statefulset.pods import replicas_of, revision_of

__all__ = (
    "write_if_changed",
    "complete_rolling_update",
    "count_pods",
    "needs_writing",
)


def count_pods(
    statefulset: V1StatefulSet,
    pods: Iterable[V1Pod],
    *,
    current: str,
    update: str,
    collisions: int,
    now: datetime,
    leaving: Collection[V1Pod] = (),
) -> V1StatefulSetStatus:
    """
    Return the status for these pods.

    :param current: the name of the current revision
    :param update: the name of the revision to which pods are updated
    :param collisions: how often the name of a revision was taken
    :param leaving: the pods that this sync has deleted to replace them
    """
    min_ready_seconds = statefulset.spec.min_ready_seconds or 0
    replicas = ready = available = currents = updated = 0
    for pod in pods:
        created = is_created(pod)
        replicas += created
        if is_running_and_ready(pod):
            ready += 1
            available += is_available(pod, min_ready_seconds, now)
        if created and not is_terminating(pod):
            revision = revision_of(pod)
            currents += revision == current and not any(pod is one for one in leaving)
            updated += revision == update
    return V1StatefulSetStatus(
        observed_generation=statefulset.metadata.generation,
        replicas=replicas,
        # The API leaves these counts out if they are 0. It always shows replicas and availableReplicas.
        ready_replicas=ready or None,
        available_replicas=available,
        current_replicas=currents or None,
        updated_replicas=updated or None,
        current_revision=current,
        update_revision=update,
        collision_count=collisions,
    )


def complete_rolling_update(statefulset: V1StatefulSet, status: V1StatefulSetStatus) -> None:
    """If all pods are ready and have the new revision, make it the current revision."""
    strategy = statefulset.spec.update_strategy
    wanted = replicas_of(statefulset)
    counts = (status.updated_replicas or 0, status.ready_replicas or 0, status.replicas)
    if strategy is not None and strategy.type == "RollingUpdate" and counts == (wanted, wanted, wanted):
        status.current_replicas = status.updated_replicas
        status.current_revision = status.update_revision


def needs_writing(statefulset: V1StatefulSet, status: V1StatefulSetStatus) -> bool:
    """Whether the status differs from the StatefulSet's. The collision count is not compared."""
    there = statefulset.status or V1StatefulSetStatus(replicas=0)
    return (status.observed_generation or 0) > (there.observed_generation or 0) or _compared(status) != _compared(there)


def _compared(status: V1StatefulSetStatus) -> tuple[object, ...]:
    return (
        status.replicas or 0,
        status.current_replicas or 0,
        status.ready_replicas or 0,
        status.updated_replicas or 0,
        status.available_replicas or 0,
        status.current_revision or "",
        status.update_revision or "",
    )


async def write_if_changed(
    server: Resource[V1StatefulSet], statefulset: V1StatefulSet, status: V1StatefulSetStatus
) -> None:
    """
    Write a status, if it has changed. If a rolling update has ended, it is completed in the status.

    :raises ClientError: if the server refuses the write
    """
    complete_rolling_update(statefulset, status)
    if needs_writing(statefulset, status):
        await write_status(server, statefulset, status, same=lambda *_: False)
