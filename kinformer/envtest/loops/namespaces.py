"""NamespaceCleaner: the namespace controller. It empties a namespace that is being deleted, and then releases it.

The order is that of a cluster's controller (:mod:`kinformer.deletion.emptying`).
"""

from __future__ import annotations

from kinformer.deletion.emptying import stages
from kinformer.envtest import status
from kinformer.envtest.admission import User
from kinformer.envtest.operations import DeleteOptions, Operations, WriteOptions
from kinformer.envtest.registry import Resource
from kinformer.envtest.storage import Change
from kinformer.envtest.storage.history import DELETED
from kinformer.envtest.strategy.base import Obj
from kinformer.meta.names import GroupResource

__all__ = ("NamespaceCleaner",)

_NAMESPACES = GroupResource("", "namespaces")
_FINALIZER = "kubernetes"
_HOW = WriteOptions(User("system:serviceaccount:kube-system:namespace-controller"), manager="kube-controller-manager")


class NamespaceCleaner:
    """See :class:`~kinformer.envtest.loops.runner.Loop`."""

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
                _, gone = self._operations.delete(resource, namespace, name, options, _HOW)
                left = left or not gone
            except status.StatusError as error:
                left = left or error.code != 404
        return left

    def _release(self, name: str) -> None:
        resource = self._operations.registry.by_storage(_NAMESPACES)
        assert resource is not None

        def change(old: Obj | None) -> Obj:
            assert old is not None
            spec = old.get("spec", {})
            kept = [one for one in spec.get("finalizers") or () if one != _FINALIZER]
            old["spec"] = {**spec, "finalizers": kept}
            if not kept:
                del old["spec"]["finalizers"]
            return old

        try:
            self._operations.update(resource, "", name, change, _HOW, subresource="finalize")
        except status.StatusError as error:
            if error.code != 404:
                raise
