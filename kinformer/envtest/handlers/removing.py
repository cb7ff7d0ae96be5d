"""The first of the two writes by which a pod is removed at once.

A pod that is deleted without grace is marked as being deleted, and then removed. To etcd these are two writes, some
milliseconds apart, and controllers act on the first before they see the second. In memory both take no time, and no
watcher would ever see one without the other; so time is taken here.
"""

from __future__ import annotations

from kinformer.clock import RealClock
from kinformer.envtest.handlers.bodies import decode_delete_options
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.operations import Operations
from kinformer.meta.names import GroupResource

__all__ = ("mark_first",)

_PODS = GroupResource("", "pods")

#: Seconds that etcd would take for a write.
_WRITE_TAKES = 0.005


async def mark_first(operations: Operations, call: Call) -> None:
    """
    Mark the pod that is to be removed, and give it time to be seen so. What is then to be done is a delete as always.

    Nothing is done where the delete would not remove it at once, or might be refused. A clock that tests turn does not
    go on by itself, and nobody would turn it for this: with such a one there is no first write either.
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
