"""Making the pods of a Job."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Final

from kinformer.controllerutil.pod_control import pod_from_template
from kinformer.meta import new_controller_ref
from kinformer.models import (
    V1Container,
    V1EnvVar,
    V1EnvVarSource,
    V1Job,
    V1ObjectFieldSelector,
    V1Pod,
    V1PodSpec,
)
from kinformer_controllers.job.counting import JobPods
from kinformer_controllers.job.failure_policy import match_failure_policy
from kinformer_controllers.job.modes import is_indexed, limits_failures_per_index
from kinformer_controllers.job.names import (
    COMPLETION_INDEX,
    INDEX_FAILURES,
    INDEX_IGNORED_FAILURES,
    KIND,
    TRACKING_FINALIZER,
)
from kinformer_controllers.job.pods import index_failures, index_ignored_failures

__all__ = ("generate_name", "index_failure_counts", "pod_maker")

_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
#: The longest prefix of a generated name. The server needs the rest of the name.
_MOST_LETTERS: Final = 58


def pod_maker(stock: JobPods) -> Callable[[int | None], V1Pod]:
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
