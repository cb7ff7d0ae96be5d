"""Server-side apply of scales. Applying a scale applies the replicas of its object.

Managed fields are stored in the object only. A scale's managed fields are the object's entries that own the replicas.
In the text of a conflict these entries have the apiVersion of the scale.
"""

from __future__ import annotations

import copy
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.apply import Entry, Managed, Manager, apply_configuration, scope_of
from kinformer.envtest.handlers.bodies import check_foreign, read_yaml
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.handlers.patch_errors import wrong_type_in_apply
from kinformer.envtest.handlers.patching import check_configuration, live_managed, need_manager, not_typed
from kinformer.envtest.operations import Operations
from kinformer.envtest.strategy.base import Obj
from kinformer.meta.names import GroupVersionKind

__all__ = ("ScaleApplier",)


class ScaleApplier:
    """
    Computes the new scale and the object's new managed fields from the present scale.

    :param path: the path of the replicas in the object
    :raises StatusError: BadRequest. Invalid without a field manager
    """

    def __init__(self, operations: Operations, call: Call, gvk: GroupVersionKind, path: str):
        need_manager(call)
        self._operations = operations
        self._call = call
        self._gvk = gvk
        self._path = path.strip(".").split(".")
        self._wanted, _ = read_yaml(call)
        self.managed = Managed(())

    def __call__(self, scale: Obj) -> Obj:
        call, resource, wanted, gvk = self._call, self._call.resource, self._wanted, self._gvk
        check_configuration(wanted, gvk.kind, gvk.api_version)
        metadata = wanted.get("metadata") or {}

        def refuse(why: str) -> status.StatusError:
            return not_typed(wrong_type_in_apply(why, wanted), metadata, gvk)

        check_foreign(gvk, copy.deepcopy(wanted), refuse)
        live = self._parent(scale.get("spec") or {})
        live["metadata"] = {"uid": scale["metadata"].get("uid")}
        before = live_managed(self._operations, call)
        entries = before.entries if before is not None else ()
        shown = {entry.manager: self._as_of_scale(entry.manager) for entry in entries}
        times = {entry.manager: entry.time for entry in entries}
        managed = Managed([Entry(shown[one.manager], one.time, one.fields) for one in entries]) if entries else None
        applied = apply_configuration(
            live,
            managed,
            self._parent(wanted.get("spec") or {}),
            scope_of(resource, "scale"),
            call.manager,
            self._operations.now(),
            call.is_set("force"),
        )
        own = {one: given for given, one in shown.items()}
        after = applied.managed.entries if applied.managed is not None else ()
        # Each entry gets the time of the object's entry for the same manager.
        self.managed = Managed(
            [
                Entry(own.get(one.manager, one.manager), times.get(own.get(one.manager, one.manager), ""), one.fields)
                for one in after
            ]
        )
        replicas: Any = applied.obj
        for part in self._path:
            replicas = replicas.get(part) if isinstance(replicas, dict) else None
        return {**scale, "metadata": {**scale["metadata"], **metadata}, "spec": {"replicas": replicas or 0}}

    def _as_of_scale(self, manager: Manager) -> Manager:
        if manager.operation != "Update" or manager.api_version != self._call.resource.api_version:
            return manager
        return manager._replace(api_version=self._gvk.api_version)

    def _parent(self, spec: Obj) -> Obj:
        """An object that has only the replicas of a scale."""
        resource = self._call.resource
        made: Obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {}}
        if spec.get("replicas") is not None:
            target = made
            for part in self._path[:-1]:
                target = target.setdefault(part, {})
            target[self._path[-1]] = spec["replicas"]
        return made
