"""The server's own admission: what kube-apiserver runs by default and what its answers depend on."""

from __future__ import annotations

from kinformer.envtest import status
from kinformer.envtest.admission import Attributes
from kinformer.envtest.storage import Storage
from kinformer.meta.names import GroupResource

__all__ = ("NamespaceLifecycle",)

_NAMESPACES = GroupResource("", "namespaces")
_PROTECTED = ("default", "kube-system", "kube-public")


class NamespaceLifecycle:
    """Objects are created in namespaces that exist and stay; some namespaces stay for good."""

    def __init__(self, storage: Storage):
        self._storage = storage

    def admit(self, attributes: Attributes) -> None:
        if attributes.operation == "DELETE":
            if attributes.resource.group_resource == _NAMESPACES and attributes.name in _PROTECTED:
                raise status.forbidden(_NAMESPACES, attributes.name, "this namespace may not be deleted")
            return
        if attributes.operation != "CREATE" or not attributes.namespace:
            return
        namespace = self._storage.get(_NAMESPACES, "", attributes.namespace)
        if namespace is None:
            raise status.not_found(_NAMESPACES, attributes.namespace)
        if b'"deletionTimestamp"' in namespace.raw and "deletionTimestamp" in namespace.decode()["metadata"]:
            name = attributes.namespace
            cause = status.Cause("metadata.namespace", "NamespaceTerminating", f"namespace {name} is being terminated")
            why = f"unable to create new content in namespace {name} because it is being terminated"
            raise status.forbidden(attributes.resource.group_resource, attributes.name, why, [cause])

    def validate(self, attributes: Attributes) -> None:
        """Nothing: all is said in :meth:`admit`, before anybody works on the object."""
