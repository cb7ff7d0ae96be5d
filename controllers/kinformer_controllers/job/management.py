"""Creating and deleting a Job's pods, until it has the wanted number of active ones.

If a Job has too many, duplicates of an index are deleted first, then the least advanced ones. If it has too few, pods
are made from its template.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final, NamedTuple

from kinformer.clock import Clock
from kinformer.controllerutil.batches import write_children
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.finalizers import remove_finalizers_patch
from kinformer.controllerutil.owning import owner_id
from kinformer.controllerutil.pod_control import PodControl, is_namespace_terminating, pod_from_template
from kinformer.controllerutil.pods import is_pod_ready
from kinformer.controllerutil.ranking import least_first
from kinformer.meta import meta_namespace_key, new_controller_ref
from kinformer.models import (
    V1Container,
    V1EnvVar,
    V1EnvVarSource,
    V1Job,
    V1ObjectFieldSelector,
    V1Pod,
    V1PodSpec,
)
from kinformer_controllers.job.counting import JobPods, first_pending_indexes, remaining_for_index
from kinformer_controllers.job.jobs import (
    COMPLETION_INDEX,
    INDEX_FAILURES,
    INDEX_IGNORED_FAILURES,
    KIND,
    TRACKING_FINALIZER,
    is_indexed,
    is_suspended,
    limits_failures_per_index,
    parallelism,
    replaces_only_failed,
)
from kinformer_controllers.job.metrics import count_pod_creations
from kinformer_controllers.job.pods import index_failures, index_ignored_failures, is_tracked, valid_index
from kinformer_controllers.job.policies import match_failure_policy

__all__ = (
    "BATCH_SECONDS",
    "MAX_PODS_PER_SYNC",
    "Managed",
    "PodManager",
    "active_pods_to_remove",
    "generate_name",
    "index_failure_counts",
)

#: The largest number of pods that one sync creates or deletes, so that other Jobs are not delayed.
MAX_PODS_PER_SYNC: Final = 500
#: How long changes of a Job's pods are collected before the Job is synced, in seconds.
BATCH_SECONDS: Final = 1.0

_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
#: The longest prefix of a generated name. The server needs the rest of the name.
_MOST_LETTERS: Final = 58


class Managed(NamedTuple):
    """
    The result of managing a Job's pods.

    :param active: the number of active pods for the status
    :param action: what was done, for the metrics
    :param error: the first error of a write; None if all succeeded
    """

    active: int
    action: str
    error: Exception | None = None


@dataclass(eq=False, slots=True)
class PodManager:
    """
    Creates and deletes the pods of Jobs.

    :param look_again: queues a Job's key after a number of seconds
    :param most: the largest number of pods that one sync creates or deletes
    """

    pods: PodControl
    expectations: Expectations
    look_again: Callable[[str, float], object]
    clock: Clock
    _: KW_ONLY
    most: int = MAX_PODS_PER_SYNC

    async def manage(self, stock: JobPods) -> Managed:
        """Delete surplus pods. If there are none, create missing pods, as far as the backoff allows."""
        active = len(stock.active)
        if is_suspended(stock.job):
            return await self._delete(stock, active_pods_to_remove(stock.job, stock.active, active))
        wanted = _wanted_active(stock)
        doomed = active_pods_to_remove(stock.job, stock.active, max(active - wanted, 0))[: self.most]
        if doomed:
            return await self._delete(stock, doomed)
        # If only failed pods are replaced, a terminating pod counts until it has ended.
        waited_for = stock.terminating if replaces_only_failed(stock.job) else 0
        missing = wanted - waited_for - active
        if missing > 0:
            return await self._create(stock, min(missing, self.most))
        return Managed(active, "tracking")

    async def _delete(self, stock: JobPods, doomed: Sequence[V1Pod]) -> Managed:
        """Delete pods that should not be counted. Their finalizer is removed first."""
        ready = 0

        async def delete(pod: V1Pod) -> None:
            nonlocal ready
            meta = pod.metadata
            if is_tracked(pod):
                await self.pods.patch(meta.namespace, meta.name, remove_finalizers_patch(pod, TRACKING_FINALIZER))
            ready += is_pod_ready(pod)
            await self.pods.delete(meta.namespace, meta.name, stock.job)

        written = await write_children(
            self.expectations, owner_id(stock.job), deletions=doomed, delete=delete, key_of=meta_namespace_key
        )
        stock.terminating += written.deleted
        stock.ready -= ready
        return Managed(len(stock.active) - written.deleted, "pods_deleted", written.error)

    async def _create(self, stock: JobPods, count: int) -> Managed:
        job, now = stock.job, self.clock.now()
        waits = [] if limits_failures_per_index(job) else [stock.backoff.remaining(now)]
        indexes: list[int | None] = [None] * count
        if is_indexed(job) and not any(waits):
            indexes = list(first_pending_indexes(stock, count))
            if limits_failures_per_index(job):
                waiting = {index: remaining_for_index(stock.kept.get(index or 0), now) for index in indexes}
                indexes = [index for index in indexes if waiting[index] <= 0]
                waits = [] if indexes else list(waiting.values())
        wait = min(waits, default=0.0)
        if wait > 0:
            self.look_again(meta_namespace_key(job), max(wait, BATCH_SECONDS))
            # Kubernetes sets 0 here. But the API refuses a number of active pods that is below that of ready pods.
            return Managed(len(stock.active) if stock.ready else 0, "pods_created")
        if not indexes:
            return Managed(len(stock.active), "pods_created")
        make = _pod_maker(stock)
        made = failed = 0

        async def create(index: int | None) -> None:
            nonlocal made, failed
            try:
                await self.pods.create(make(index), job)
            except Exception as error:
                failed += not is_namespace_terminating(error)
                raise
            made += 1

        written = await write_children(self.expectations, owner_id(job), creations=indexes, create=create)
        count_pod_creations(stock, made, failed)
        return Managed(len(stock.active) + written.created, "pods_created", written.error)


def _wanted_active(stock: JobPods) -> int:
    """Return how many active pods the Job should have."""
    job = stock.job
    completions: int | None = job.spec.completions
    if completions is None:
        # After the first success no more pods are created. Running pods may finish.
        return len(stock.active) if stock.succeeded > 0 else parallelism(job)
    return max(min(completions - stock.succeeded, parallelism(job)), 0)


def active_pods_to_remove(job: V1Job, active: Sequence[V1Pod], at_least: int) -> list[V1Pod]:
    """
    Return the pods to delete.

    For an Indexed Job these are all pods without a valid index, and all pods but one of each index. If these are fewer
    than `at_least`, further pods are added.
    """
    doomed: list[V1Pod] = []
    left: Sequence[V1Pod] = active
    if is_indexed(job):
        doomed, left = _doubles(job, active)
    if len(doomed) < at_least:
        doomed += least_first(left)[: at_least - len(doomed)]
    return doomed


def _doubles(job: V1Job, active: Iterable[V1Pod]) -> tuple[list[V1Pod], list[V1Pod]]:
    """Return the surplus pods, and the others: one for each index."""
    by_index: dict[int, list[V1Pod]] = defaultdict(list)
    doomed: list[V1Pod] = []
    left: list[V1Pod] = []
    for pod in active:
        index = valid_index(pod, job)
        if index is None:
            doomed.append(pod)
        else:
            by_index[index].append(pod)
    for _, pods in sorted(by_index.items()):
        *surplus, best = least_first(pods) if len(pods) > 1 else pods
        doomed += surplus
        left.append(best)
    return doomed, left


def _pod_maker(stock: JobPods) -> Callable[[int | None], V1Pod]:
    """
    Return the function that makes the pod for an index; the index is None if the Job is not indexed.

    The pods share their common parts, so they must not be changed.
    """
    job = stock.job
    reference = new_controller_ref(job, KIND)
    template = copy.copy(job.spec.template)
    template.metadata = copy.copy(template.metadata)
    template.metadata.finalizers = _with_finalizer(template.metadata.finalizers)
    if not is_indexed(job):
        pod = pod_from_template(template, job.metadata.namespace, job.metadata.name, reference)
        return lambda _: pod
    template.spec = _with_index_variable(template.spec)

    def make(index: int | None) -> V1Pod:
        assert index is not None
        prefix = generate_name(job.metadata.name, index)
        pod = pod_from_template(template, job.metadata.namespace, job.metadata.name, reference, prefix)
        meta = pod.metadata
        meta.labels = {**(meta.labels or {}), COMPLETION_INDEX: str(index)}
        meta.annotations = {**(meta.annotations or {}), COMPLETION_INDEX: str(index), **_failures(stock, index)}
        pod.spec = copy.copy(pod.spec)
        pod.spec.hostname = f"{job.metadata.name}-{index}"
        return pod

    return make


def generate_name(job_name: str, index: int) -> str:
    """Return the prefix of the name of an index's pod. If the Job's name is long, it is cut; the index is not."""
    suffix = f"-{index}-"
    return job_name[: _MOST_LETTERS - len(suffix)] + suffix


def index_failure_counts(job: V1Job, replaced: V1Pod | None) -> tuple[int, int]:
    """Return the counted and the ignored failures of an index, for the pod that replaces this one."""
    if replaced is None:
        return 0, 0
    counted, ignored = index_failures(replaced), index_ignored_failures(replaced)
    if match_failure_policy(job, replaced).counts:
        return counted + 1, ignored
    return counted, ignored + 1


def _failures(stock: JobPods, index: int) -> dict[str, str]:
    if not limits_failures_per_index(stock.job):
        return {}
    counted, ignored = index_failure_counts(stock.job, stock.kept.get(index))
    annotations = {INDEX_FAILURES: str(counted)}
    if ignored > 0:
        annotations[INDEX_IGNORED_FAILURES] = str(ignored)
    return annotations


def _with_finalizer(finalizers: list[str] | None) -> list[str]:
    present = finalizers or []
    return present if TRACKING_FINALIZER in present else [*present, TRACKING_FINALIZER]


def _with_index_variable(spec: V1PodSpec) -> V1PodSpec:
    spec = copy.copy(spec)
    if spec.init_containers:
        spec.init_containers = [_container(container) for container in spec.init_containers]
    spec.containers = [_container(container) for container in spec.containers or ()]
    return spec


def _container(container: V1Container) -> V1Container:
    if any(variable.name == _INDEX_VARIABLE for variable in container.env or ()):
        return container  # the user has set the variable
    container = copy.copy(container)
    path = V1ObjectFieldSelector(field_path=f"metadata.labels['{COMPLETION_INDEX}']")
    variable = V1EnvVar(name=_INDEX_VARIABLE, value_from=V1EnvVarSource(field_ref=path))
    container.env = [*(container.env or ()), variable]
    return container
