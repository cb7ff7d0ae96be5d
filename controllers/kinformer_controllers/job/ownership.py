"""Adopting and releasing the pods of a Job."""

from __future__ import annotations

import copy
from typing import Protocol

from kinformer.cache import Indexer
from kinformer.controllerutil.claiming import ControllerRefManager, recheck_deletion
from kinformer.controllerutil.owning import OwnersByReference, controller_of
from kinformer.controllerutil.pod_control import PodWriter
from kinformer.meta import label_selector_as_selector
from kinformer.models import V1Job, V1Pod
from kinformer_controllers.job.index import pods_of_job
from kinformer_controllers.job.names import KIND, TRACKING_FINALIZER
from kinformer_controllers.job.pods import is_tracked

__all__ = ("JobPodClaims",)


class JobReader(Protocol):
    """The methods of a :class:`kinformer.client.Resource` of Jobs that are needed here."""

    async def get(self, name: str, namespace: str = "") -> V1Job:
        """See :meth:`kinformer.client.Resource.get`."""


class JobPodClaims:
    """
    Adopts and releases pods.

    :param server: reads a Job from the API server, without a cache, before it adopts
    """

    def __init__(self, server: JobReader, jobs: Indexer[V1Job], pods: Indexer[V1Pod], control: PodWriter) -> None:
        self._server = server
        self._pods = pods
        self._control = control
        self._owners = OwnersByReference(V1Job, KIND.kind, jobs, _selects)

    def candidates_for(self, pod: V1Pod) -> list[str]:
        """Return the keys of the Jobs that select a pod without a controller."""
        return self._owners.candidates_for(pod)

    async def pods_of(self, job: V1Job) -> list[V1Pod]:
        """
        Adopt and release pods, and return the Job's pods that matter.

        :raises SelectorError: if the Job's selector is invalid
        :raises ExceptionGroup: with an error for each pod that could not be adopted or released
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
    """Return a pod that was just adopted with its new finalizer, which the cache does not show yet."""
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
        return False  # the usual case, because the Job's uid is among the labels
    return label_selector_as_selector(selector).matches(labels)
