"""Which pods are a Job's: by owner reference, and by its selector what it adopts and what it lets go."""

from __future__ import annotations

import copy
from typing import Protocol

from kinformer.cache import Indexer
from kinformer.meta import label_selector_as_selector
from kinformer.models import V1Job, V1Pod
from kinformer_controllers.job.index import pods_of_job
from kinformer_controllers.job.names import KIND, TRACKING_FINALIZER
from kinformer_controllers.job.pods import is_tracked
from kinformer_controllers.shared.owning.claim import ControllerRefManager, recheck_deletion
from kinformer_controllers.shared.owning.owners import OwnersByReference, controller_of
from kinformer_controllers.shared.writing.pods import PodWriter

__all__ = ("JobPodClaims",)


class JobReader(Protocol):
    """What is asked of a :class:`kinformer.client.Resource` of Jobs."""

    async def get(self, name: str, namespace: str = "") -> V1Job:
        """See :meth:`kinformer.client.Resource.get`."""


class JobPodClaims:
    """
    :param server: where a Job is read afresh before it adopts
    """

    def __init__(self, server: JobReader, jobs: Indexer[V1Job], pods: Indexer[V1Pod], control: PodWriter) -> None:
        self._server = server
        self._pods = pods
        self._control = control
        self._owners = OwnersByReference(V1Job, KIND.kind, jobs, _selects)

    def candidates_for(self, pod: V1Pod) -> list[str]:
        """The keys of the Jobs that select a pod which is nobody's."""
        return self._owners.candidates_for(pod)

    async def pods_of(self, job: V1Job) -> list[V1Pod]:
        """
        The Job's pods that matter, after adopting and releasing what has to be.

        :raises SelectorError: if the Job's selector cannot be understood
        :raises ExceptionGroup: with what kept pods from being adopted or released
        """
        meta = job.metadata

        async def read_fresh() -> V1Job:
            return await self._server.get(meta.name, meta.namespace)

        manager: ControllerRefManager[V1Pod] = ControllerRefManager(
            job,
            KIND,
            label_selector_as_selector(job.spec.selector),
            self._control.patch,
            recheck_deletion(read_fresh, meta.uid),
            (TRACKING_FINALIZER,),
        )
        pods = await manager.claim(pods_of_job(self._pods, job))
        return [pod if controller_of(pod) is not None else _as_adopted(pod) for pod in pods]


def _as_adopted(pod: V1Pod) -> V1Pod:
    """A pod as it is since it was just adopted: with the finalizer, which the cache does not show yet."""
    if is_tracked(pod):
        return pod
    pod = copy.copy(pod)
    pod.metadata = copy.copy(pod.metadata)
    pod.metadata.finalizers = [*(pod.metadata.finalizers or ()), TRACKING_FINALIZER]
    return pod


def _selects(job: V1Job, pod: V1Pod) -> bool:
    selector, labels = job.spec.selector, pod.metadata.labels
    if selector is None or not labels:
        return False
    wanted = selector.match_labels
    if wanted and not wanted.items() <= labels.items():
        return False  # nearly always: the Job's own uid is among them
    return label_selector_as_selector(selector).matches(labels)
