"""PodReaper: removes pods after their grace period, as a kubelet does, or the pod garbage collector in its place."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kinformer.envtest import status
from kinformer.envtest.admission import User
from kinformer.envtest.operations import DeleteOptions, Operations, WriteOptions
from kinformer.envtest.storage import Change
from kinformer.envtest.storage.history import DELETED
from kinformer.meta.names import GroupResource

__all__ = ("PodReaper",)

_PODS = GroupResource("", "pods")
_HOW = WriteOptions(User("system:serviceaccount:kube-system:pod-garbage-collector"), manager="kube-controller-manager")


class PodReaper:
    """
    See :class:`~kinformer.envtest.loops.runner.Loop`.

    :param wake: called when there is something to do
    """

    def __init__(self, operations: Operations, wake: Callable[[], None]):
        self._operations = operations
        self._wake = wake
        self._due: deque[tuple[str, str]] = deque()

    def note(self, resource: GroupResource, change: Change) -> None:
        # A pod that was there before the loop began comes as a new one.
        if resource != _PODS or change.type == DELETED or b'"deletionTimestamp"' not in change.now.raw:
            return
        metadata = change.now.decode()["metadata"]
        if "deletionTimestamp" not in metadata:
            return
        grace = float(metadata.get("deletionGracePeriodSeconds") or 0)
        if not grace:
            return  # the deleting request removes it, or its finalizers hold it
        key, uid = change.now.key, metadata["uid"]

        def end() -> None:
            self._due.append((key, uid))
            self._wake()

        # If the grace period is shortened later, a second timer is set. The pod is gone when the first one fires.
        self._operations.clock.call_later(grace, end)

    @property
    def is_due(self) -> bool:
        return bool(self._due)

    def act(self) -> bool:
        if not self._due:
            return False
        key, uid = self._due.popleft()
        resource = self._operations.registry.by_storage(_PODS)
        assert resource is not None
        namespace, _, name = key.rpartition("/")
        try:
            self._operations.delete(resource, namespace, name, DeleteOptions(grace_period=0, uid=uid), _HOW)
        except status.StatusError as error:
            if error.code not in (404, 409):
                raise
        return True
