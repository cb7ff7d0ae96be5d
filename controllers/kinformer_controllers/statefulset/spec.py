"""The StatefulSet controller: pods with their own identity and storage, which are started and stopped in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("StatefulSetOptions", "SPEC")


@dataclass(frozen=True)
class StatefulSetOptions:
    concurrent_statefulset_syncs: int = workers(5, "StatefulSets")


SPEC: Final = ControllerSpec(
    name="statefulset-controller",
    aliases=("statefulset",),
    summary="makes pods in order, each with a number and storage of its own",
    factory="kinformer_controllers.statefulset.controller:StatefulSetController",
    options=StatefulSetOptions,
    permissions=(
        allow("get list watch", "statefulsets.apps"),
        allow("update", "statefulsets.apps/status"),
        allow("get list watch create update patch delete", "pods"),
        allow("get list watch create update patch delete", "controllerrevisions.apps"),
        allow("list watch create update", "persistentvolumeclaims"),
        # Pods and claims have owner references with blockOwnerDeletion. Some servers require these permissions.
        allow("update", "statefulsets.apps/finalizers", "pods/finalizers"),
        RECORD_EVENTS,
    ),
    metrics=(
        "statefulset_controller_stale_sync_skips",
        "statefulset_controller_stale_sync_skips_total",
    ),
    sharded_by="namespace",
    page="statefulset.md",
    differs="a pod that waits for the deletion of an old claim is made as soon as the claim is gone",
)
