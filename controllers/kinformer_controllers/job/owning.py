"""Which pods belong to a Job: adopting, releasing, and orphans.

Orphans are pods with the tracking finalizer that no Job will count: their Job was deleted or has finished, or the
garbage collector has removed their owner reference. With the finalizer they could not be deleted, so it is removed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from kinformer.cache import Indexer
from kinformer.cache.division import KeyShard
from kinformer.client import Resource
from kinformer.client.errors import NotFound
from kinformer.controllerutil.claiming import ControllerRefManager, recheck_deletion
from kinformer.controllerutil.finalizers import remove_finalizers_patch
from kinformer.controllerutil.owning import OwnersByReference, controller_of
from kinformer.controllerutil.pod_control import PodControl
from kinformer.logs import get_logger
from kinformer.meta import Nothing, SelectorError, label_selector_as_selector, meta_namespace_key, parse_selector
from kinformer.models import V1Job, V1OwnerReference, V1Pod
from kinformer_controllers.job.jobs import KIND, TRACKING_FINALIZER, external_manager, is_finished
from kinformer_controllers.job.pods import is_tracked, pods_of_job, pods_of_nobody, pods_of_uid

__all__ = (
    "JobPodClaims",
    "OrphanKey",
    "Orphans",
)

log = get_logger(__name__)

_POD: Final = "pod"
_JOB: Final = "job"
#: Stands for a selector that matches nothing. It is not a valid selector text.
_NOTHING: Final = "!"
_API_VERSION: Final = f"{KIND.group}/{KIND.version}"


class JobPodClaims:
    """
    Adopts and releases pods.

    :param server: reads a Job from the API server, without a cache, before it adopts
    """

    def __init__(
        self, server: Resource[V1Job], jobs: Indexer[V1Job], pods: Indexer[V1Pod], control: PodControl
    ) -> None:
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


class OrphanKey(NamedTuple):
    """
    A key of the queue: one pod, or all pods of a Job.

    :param kind: ``pod`` or ``job``
    :param value: a pod's name, or a Job's uid and selector
    """

    kind: str
    namespace: str
    value: str

    @classmethod
    def of_pod(cls, pod: V1Pod) -> OrphanKey:
        return cls(_POD, pod.metadata.namespace, pod.metadata.name)

    @classmethod
    def of_job(cls, job: V1Job) -> OrphanKey:
        """Return the key for all pods of a Job, and, if its selector is valid, the pods without a controller in it."""
        try:
            selector = str(label_selector_as_selector(job.spec.selector))
        except SelectorError as error:
            log.error("selector_not_understood", kind=KIND.kind, key=meta_namespace_key(job), error=str(error))
            selector = _NOTHING
        return cls(_JOB, job.metadata.namespace, f"{job.metadata.uid} {selector}")

    @classmethod
    def parse(cls, text: str) -> OrphanKey:
        """Parse the result of :attr:`text`."""
        kind, namespace, value = text.split("/", 2)
        return cls(kind, namespace, value)

    @property
    def text(self) -> str:
        """The key as a text, for the queue."""
        return "/".join(self)


@dataclass(eq=False, slots=True)
class Orphans:
    """
    Syncs orphans.

    :param job_of: returns the Job that an owner reference names; None if there is none
    """

    pods: Indexer[V1Pod]
    control: PodControl
    job_of: Callable[[str, V1OwnerReference | None], V1Job | None]

    async def sync(self, text: str) -> None:
        """
        Remove the finalizer of the orphans among a key's pods.

        :raises ExceptionGroup: with the errors of the pods that could not be patched
        """
        errors: list[Exception] = []
        for pod in self._named(OrphanKey.parse(text)):
            try:
                await self._release(pod)
            except Exception as error:  # of any type: the other pods must be released, too
                errors.append(error)
        if errors:
            raise ExceptionGroup("could not release all orphan pods", errors)

    def shard_of(self, text: str) -> KeyShard | None:
        """The shard of a key where namespaces are divided by owner: that of the Job, which holds its pods."""
        key = OrphanKey.parse(text)
        if key.kind == _JOB:
            return KeyShard(key.value.partition(" ")[0])
        pod = self.pods.get_by_key(f"{key.namespace}/{key.value}")
        if pod is None:
            return None
        reference = controller_of(pod)
        # Every process holds a pod without a controller, and one of them has to release it.
        return KeyShard(reference.uid) if reference is not None else KeyShard(pod.metadata.uid, held_by_all=True)

    def _named(self, key: OrphanKey) -> list[V1Pod]:
        if key.kind == _POD:
            pod = self.pods.get_by_key(f"{key.namespace}/{key.value}")
            return [pod] if pod is not None else []
        uid, _, text = key.value.partition(" ")
        selector = parse_selector(text) if text != _NOTHING else Nothing
        mine, of_nobody = pods_of_uid(self.pods, key.namespace, uid), pods_of_nobody(self.pods, key.namespace)
        return [*mine, *(pod for pod in of_nobody if selector.matches(pod.metadata.labels or {}))]

    async def _release(self, pod: V1Pod) -> None:
        if not is_tracked(pod) or not self._is_orphan(pod):
            return
        meta = pod.metadata
        try:
            await self.control.patch(meta.namespace, meta.name, remove_finalizers_patch(pod, TRACKING_FINALIZER))
        except NotFound:
            return  # it is gone

    def _is_orphan(self, pod: V1Pod) -> bool:
        reference = controller_of(pod)
        if reference is None:
            return True
        if reference.kind != KIND.kind or reference.api_version != _API_VERSION:
            return False  # an owner of another kind may use the finalizer in its own way
        job = self.job_of(pod.metadata.namespace, reference)
        if job is None:
            return True
        return external_manager(job) is None and is_finished(job)
