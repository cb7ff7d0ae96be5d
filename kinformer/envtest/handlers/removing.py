"""The first of the two writes that remove a pod at once.

A pod that is deleted without a grace period is first marked as deleted, and then removed. For etcd these are two writes
with some milliseconds between them, and controllers react to the first before they see the second. In memory both
writes would take no time, so no watcher could see the first alone. So this module waits between them.
"""

from __future__ import annotations

from kinformer.clock import RealClock
from kinformer.envtest.handlers.bodies import decode_delete_options
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.operations import Operations
from kinformer.meta.names import GroupResource

__all__ = ("mark_first",)

_PODS = GroupResource("", "pods")

#: The time of a write to etcd, in seconds.
_WRITE_TAKES = 0.005


async def mark_first(operations: Operations, call: Call) -> None:
    """
    Mark a pod that is removed at once as deleted, and give watchers time to see it. The caller then deletes it.

    Nothing is written if the delete does not remove the pod at once, or may be refused. With a clock that tests turn
    there is no first write either, because such a clock does not move on its own during the wait.
    """
    if call.resource.group_resource != _PODS or call.target.subresource is not None:
        return
    if not isinstance(operations.clock, RealClock):
        return
    options = decode_delete_options(call)
    if call.is_dry_run:
        return
    before = operations.storage.get(_PODS, call.namespace, call.name)
    if before is None or options.grace_period != 0 or options.uid is not None or options.resource_version is not None:
        return
    obj = before.decode()
    metadata = obj["metadata"]
    if "deletionTimestamp" in metadata or metadata.get("finalizers"):
        return
    metadata["deletionTimestamp"] = operations.now()
    metadata["deletionGracePeriodSeconds"] = 0
    if metadata.get("generation"):
        metadata["generation"] += 1
    operations.storage.update(call.resource.storage, before, obj)
    await operations.clock.sleep(_WRITE_TAKES)
