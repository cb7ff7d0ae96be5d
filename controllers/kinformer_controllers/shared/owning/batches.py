"""Pods made and removed by the dozen, with what a controller then expects to see.

Both functions set the expectations before the first write, so that whatever the watch shows meanwhile is crossed off,
and take back what did not come about. Errors are returned: a controller has its status to write before it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio

from kinformer.client.errors import NotFound
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Pod
from kinformer_controllers.shared.owning.control import PodWriter, is_namespace_terminating
from kinformer_controllers.shared.owning.expectations import UIDTrackingExpectations
from kinformer_controllers.shared.owning.slow_start import slow_start_batch

__all__ = ("create_pods", "delete_pods")


async def create_pods(
    control: PodWriter,
    expectations: UIDTrackingExpectations,
    owner: Any,
    count: int,
    make_pod: Callable[[], V1Pod],
) -> Exception | None:
    """
    Create `count` pods, in batches that grow while they succeed.

    :param make_pod: gives the pod, which is created again and again; what it raises is as if the server had refused
    :return: the first error, None if all were made, or if none will be as the namespace is on its way out
    """
    key = meta_namespace_key(owner)
    expectations.expect_creations(key, count)
    pod: V1Pod | None = None

    async def create() -> None:
        nonlocal pod
        try:
            pod = pod or make_pod()
            await control.create(pod, owner)
        except Exception as error:
            # None will succeed any more, and the controller itself goes next: nothing to try again for.
            if not is_namespace_terminating(error):
                raise

    successes, error = await slow_start_batch(count, create)
    # What was not made will not be seen either.
    expectations.lower(key, creations=count - successes)
    return error


async def delete_pods(
    control: PodWriter, expectations: UIDTrackingExpectations, owner: Any, pods: Sequence[V1Pod]
) -> Exception | None:
    """
    Delete these pods, all at once.

    :return: the first error, None if all are deleted or were gone already
    """
    key = meta_namespace_key(owner)
    # By name, so that each is crossed off once: as an update with a deletion timestamp, or as a delete.
    expectations.expect_deletions(key, map(meta_namespace_key, pods))
    errors: list[Exception] = []

    async def delete(pod: V1Pod) -> None:
        try:
            await control.delete(pod.metadata.namespace, pod.metadata.name, owner)
        except Exception as error:  # whatever it is, it is the caller's answer
            expectations.deletion_observed(key, meta_namespace_key(pod))
            if not isinstance(error, NotFound):
                errors.append(error)

    async with anyio.create_task_group() as tasks:
        for pod in pods:
            tasks.start_soon(delete, pod)
    return errors[0] if errors else None
