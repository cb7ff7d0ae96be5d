"""The two writes that remove a pod at once.

A pod that is deleted without a grace period is first marked as deleted, and then removed. For etcd these are two writes
with some milliseconds between them, and controllers react to the first before they see the second. In memory both
writes would take no time, so no watcher could see the first alone. So this module waits between them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kinformer.clock import RealClock
from kinformer.envtest.handlers.bodies import decode_delete_options
from kinformer.envtest.handlers.call import Answer, Call
from kinformer.envtest.handlers.views import choose_view
from kinformer.envtest.operations import Operations
from kinformer.envtest.status import StatusError
from kinformer.envtest.storage import Version
from kinformer.meta.names import GroupResource

__all__ = ("answer_delete",)

_PODS = GroupResource("", "pods")

#: The time of a write to etcd, in seconds.
_WRITE_TAKES = 0.005


async def answer_delete(operations: Operations, call: Call, answer: Callable[[Call], Awaitable[Answer]]) -> Answer:
    """
    Answer a delete. A pod that it removes at once is marked as deleted first, and watchers get time to see that.

    Somebody who sees the mark may remove the pod in that time, as a kubelet does. The delete has succeeded then, and is
    answered with the pod as it was marked (kube-apiserver's ``ignoreNotFound``).
    """
    marked = _marked(operations, call)
    if marked is None:
        return await answer(call)
    await operations.clock.sleep(_WRITE_TAKES)
    try:
        return await answer(call)
    except StatusError as error:
        if error.code != 404:
            raise
        return Answer(choose_view(call).one(marked.raw) + b"\n")


def _marked(operations: Operations, call: Call) -> Version | None:
    """
    Mark a pod that is removed at once.

    Nothing is written if the delete does not remove the pod at once, or may be refused. With a clock that tests turn
    there is no first write either, because such a clock does not move on its own during the wait.
    """
    if call.resource.group_resource != _PODS or call.target.subresource is not None:
        return None
    if not isinstance(operations.clock, RealClock):
        return None
    options = decode_delete_options(call)
    if call.is_dry_run:
        return None
    before = operations.storage.get(_PODS, call.namespace, call.name)
    if before is None or options.grace_period != 0 or options.uid is not None or options.resource_version is not None:
        return None
    obj = before.decode()
    metadata = obj["metadata"]
    if "deletionTimestamp" in metadata or metadata.get("finalizers"):
        return None
    metadata["deletionTimestamp"] = operations.now()
    metadata["deletionGracePeriodSeconds"] = 0
    if metadata.get("generation"):
        metadata["generation"] += 1
    return operations.storage.update(call.resource.storage, before, obj)
