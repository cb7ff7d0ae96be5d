"""Loops that end what is being deleted: pods after their grace period, and namespaces once they are empty.

See :class:`~kinformer.envtest.loops.runner.Loop`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kinformer.deletion.emptying import stages
from kinformer.envtest import status
from kinformer.envtest.admission import User
from kinformer.envtest.operations import DeleteOptions, Operations, WriteOptions
from kinformer.envtest.registry import Resource
from kinformer.envtest.storage import Change
from kinformer.envtest.storage.history import DELETED
from kinformer.envtest.strategy.base import Obj, with_field
from kinformer.meta.names import GroupResource

__all__ = ("NamespaceCleaner", "PodReaper")

_NAMESPACES = GroupResource("", "namespaces")
_PODS = GroupResource("", "pods")
_FINALIZER = "kubernetes"


def _as_controller(name: str) -> WriteOptions:
    return WriteOptions(User(f"system:serviceaccount:kube-system:{name}"), manager="kube-controller-manager")


_AS_NAMESPACES = _as_controller("namespace-controller")
_AS_PODS = _as_controller("pod-garbage-collector")


class NamespaceCleaner:
    """
    The namespace controller. It empties a namespace that is being deleted, and then releases it.

    The order is that of a cluster's controller (:mod:`kinformer.deletion.emptying`).
    """

    def __init__(self, operations: Operations):
        self._operations = operations
        self._terminating: set[str] = set()
        self._due: dict[str, None] = {}

    def note(self, resource: GroupResource, change: Change) -> None:
        key = change.now.key
        if resource == _NAMESPACES:
            if change.type == DELETED:
                self._terminating.discard(key)
                self._due.pop(key, None)
            elif b'"deletionTimestamp"' in change.now.raw and "deletionTimestamp" in change.now.decode()["metadata"]:
                self._terminating.add(key)
                self._due[key] = None
        elif self._terminating and change.type == DELETED:
            namespace = key.rpartition("/")[0]
            if namespace in self._terminating:
                self._due[namespace] = None

    @property
    def is_due(self) -> bool:
        return bool(self._due)

    def act(self) -> bool:
        if not self._due:
            return False
        name = next(iter(self._due))
        del self._due[name]
        if self._empty(name):
            self._release(name)
        return True

    def _empty(self, namespace: str) -> bool:
        """Delete the objects of a namespace, stage after stage. Return whether all are gone."""
        places = [
            (storage, resource)
            for storage, _ in self._operations.storage.logs()
            if (resource := self._operations.registry.by_storage(storage)) is not None and resource.namespaced
        ]
        for stage in stages(places, lambda place: place[0]):
            left = False
            for storage, resource in stage:
                left = self._delete_all(storage, resource, namespace) or left
            if left:
                return False
        return True

    def _delete_all(self, storage: GroupResource, resource: Resource, namespace: str) -> bool:
        """Delete the objects of a kind. Return whether some are left."""
        left = False
        for version in list(self._operations.storage.log(storage).select(namespace)):
            if "deletionTimestamp" in version.decode()["metadata"]:
                left = True
                continue
            try:
                options = DeleteOptions(propagation="Background")
                name = version.key.rpartition("/")[2]
                _, gone = self._operations.delete(resource, namespace, name, options, _AS_NAMESPACES)
                left = left or not gone
            except status.StatusError as error:
                left = left or error.code != 404
        return left

    def _release(self, name: str) -> None:
        resource = self._operations.registry.by_storage(_NAMESPACES)
        assert resource is not None

        def change(old: Obj | None) -> Obj:
            assert old is not None
            spec = old.setdefault("spec", {})
            kept = [one for one in spec.get("finalizers") or () if one != _FINALIZER]
            with_field(spec, "finalizers", kept or None)
            return old

        try:
            self._operations.update(resource, "", name, change, _AS_NAMESPACES, subresource="finalize")
        except status.StatusError as error:
            if error.code != 404:
                raise


class PodReaper:
    """
    Removes pods after their grace period, as a kubelet does, or the pod garbage collector in its place.

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
            self._operations.delete(resource, namespace, name, DeleteOptions(grace_period=0, uid=uid), _AS_PODS)
        except status.StatusError as error:
            if error.code not in (404, 409):
                raise
        return True
