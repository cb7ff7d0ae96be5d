"""The namespace controller, as kube-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, workers
from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("NamespaceOptions", "SPEC")


@dataclass(frozen=True)
class NamespaceOptions:
    concurrent_namespace_syncs: int = workers(10, "terminating namespaces")
    namespace_sync_period: float = duration(300.0, "How often every terminating namespace is checked; 0 for never.")


SPEC: Final = ControllerSpec(
    name="namespace-controller",
    aliases=("namespace",),
    summary="deletes all objects of a deleted namespace, and then the namespace",
    factory="kinformer_controllers.namespace.controller:NamespaceController",
    options=NamespaceOptions,
    permissions=(
        allow("get list watch", "namespaces"),
        allow("update", "namespaces/status", "namespaces/finalize"),
        # Everything in a namespace is deleted.
        allow("list delete deletecollection", "*.*"),
    ),
    sharded_by="name",
    page="namespace.md",
    differs="a kind without objects costs one request instead of two",
)
