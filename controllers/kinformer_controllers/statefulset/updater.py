"""Carrying out the plan for one StatefulSet.

In: a StatefulSet, its pods and two revisions. Out: its new status, after pods were created, corrected and deleted.
Promised: with OrderedReady, a sync stops at the first pod that is not complete, and changes at most this one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from kinformer.controllerutil.batches import slow_start
from kinformer.models import V1Pod, V1StatefulSet, V1StatefulSetStatus
from kinformer_controllers.statefulset.plan import Step, is_pending, lay_out, may_remove, pods_to_update, step_for
from kinformer_controllers.statefulset.pods import Version, has_identity, has_storage
from kinformer_controllers.statefulset.status import count_pods
from kinformer_controllers.statefulset.writer import StatefulPodWriter

__all__ = ("Outcome", "StatefulSetUpdater")

#: The largest number of pods of one StatefulSet that are written at the same time.
_AT_ONCE: Final = 500


class Outcome(NamedTuple):
    """
    The result of an update.

    :ivar status: the new status
    :ivar failure: the error that ended the update; None if there was none
    """

    status: V1StatefulSetStatus
    failure: Exception | None


class StatefulSetUpdater:
    """Creates, corrects and deletes the pods of StatefulSets."""

    def __init__(self, writer: StatefulPodWriter) -> None:
        self._writer = writer

    async def update(
        self,
        statefulset: V1StatefulSet,
        pods: Sequence[V1Pod],
        current: Version,
        update: Version,
        collisions: int,
        now: datetime,
    ) -> Outcome:
        """
        Scale, then update pods. An error ends this; it is returned, not raised, because the status is written first.

        :param current: the version that pods were made from
        :param update: the version that new pods are made from
        :param collisions: how often the name of a revision was taken
        """

        def status(of: Sequence[V1Pod], leaving: Sequence[V1Pod] = ()) -> V1StatefulSetStatus:
            return count_pods(
                statefulset,
                of,
                leaving=leaving,
                current=current.revision,
                update=update.revision,
                collisions=collisions,
                now=now,
            )

        if statefulset.metadata.deletion_timestamp:
            return Outcome(status(pods), None)
        layout = lay_out(current, update, statefulset, pods, now)
        counted = layout.there
        replaced: list[V1Pod] = []
        ordered = statefulset.spec.pod_management_policy != "Parallel"

        async def keep(pod: V1Pod) -> bool:
            return await self._keep(statefulset, update.statefulset, pod, ordered=ordered, now=now)

        async def fix_claims(pod: V1Pod) -> bool:
            if not self._writer.claims_are_right(update.statefulset, pod):
                await self._writer.own_claims(update.statefulset, pod)
            return True

        async def remove(pod: V1Pod) -> bool:
            if may_remove(statefulset, pod, layout.first_unavailable, ordered=ordered, now=now):
                await self._writer.delete(statefulset, pod)
            return False

        try:
            for step, targets in ((keep, layout.replicas), (fix_claims, layout.condemned), (remove, layout.condemned)):
                if not await _for_each(targets, step, ordered=ordered):
                    return Outcome(status(counted), None)
            for pod in pods_to_update(statefulset, layout.replicas, update.revision, now):
                await self._writer.delete(statefulset, pod)
                replaced.append(pod)
        except Exception as error:
            return Outcome(status(counted, replaced), error)
        return Outcome(status(counted, replaced), None)

    async def _keep(
        self, statefulset: V1StatefulSet, updated: V1StatefulSet, pod: V1Pod, *, ordered: bool, now: datetime
    ) -> bool:
        """Do the step of one pod in the range. Returns whether to continue with the next pod."""
        writer = self._writer
        step = step_for(statefulset, pod, ordered=ordered, now=now)
        if step is Step.DELETE:
            await writer.delete(statefulset, pod)
            return False
        if step is Step.CREATE:
            if not writer.has_stale_claim(statefulset, pod):
                await writer.create(statefulset, pod)
            return False
        if is_pending(pod):
            await writer.create_missing_claims(statefulset, pod)
        if step is Step.WAIT:
            return False
        right = has_identity(statefulset, pod) and has_storage(statefulset, pod)
        if not right or not writer.claims_are_right(updated, pod):
            await writer.update(updated, pod)
        return True


async def _for_each(pods: Sequence[V1Pod], step: Callable[[V1Pod], Awaitable[bool]], *, ordered: bool) -> bool:
    """
    Do a step for each pod: one after the other until a pod has to be waited for, or many at the same time.

    :return: whether no pod has to be waited for
    """
    if not ordered:
        if (failure := (await slow_start(pods, step, most=_AT_ONCE)).error) is not None:
            raise failure
        return True
    for pod in pods:
        if not await step(pod):
            return False
    return True
