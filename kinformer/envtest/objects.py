"""Stored objects for admission plug-ins: reads and writes them within the transaction, without HTTP."""

from __future__ import annotations

from typing import Any

from kinformer.envtest.operations import Operations
from kinformer.envtest.registry import Resource
from kinformer.meta.names import GroupResource

__all__ = ("StoredObjects",)


class StoredObjects:
    """See :class:`~kinformer.envtest.admission.ObjectClient`."""

    def __init__(self, operations: Operations):
        self._operations = operations

    def get(self, group: str, plural: str, namespace: str, name: str) -> dict[str, Any] | None:
        found = self._operations.storage.get(GroupResource(group, plural), namespace, name)
        return found.decode() if found is not None else None

    def list(self, group: str, plural: str, namespace: str = "") -> list[dict[str, Any]]:
        log = self._operations.storage.log(GroupResource(group, plural))
        return [version.decode() for version in log.select(namespace)]

    def update_status(self, group: str, plural: str, obj: dict[str, Any]) -> dict[str, Any]:
        metadata = obj["metadata"]
        stored, _ = self._operations.update(
            self._resource(group, plural),
            metadata.get("namespace", ""),
            metadata["name"],
            lambda _: obj,
            subresource="status",
        )
        return stored.decode()

    def _resource(self, group: str, plural: str) -> Resource:
        found = self._operations.registry.by_storage(GroupResource(group, plural))
        if found is None:
            raise LookupError(f"{GroupResource(group, plural)} is not served")
        return found
