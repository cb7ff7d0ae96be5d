"""The DaemonSet controller: one pod on every node that it selects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("DaemonSetOptions", "SPEC")


@dataclass(frozen=True)
class DaemonSetOptions:
    concurrent_daemonset_syncs: int = workers(2, "DaemonSets")


SPEC: Final = ControllerSpec(
    name="daemonset-controller",
    aliases=("daemonset",),
    summary="keeps a pod on every node",
    factory="kinformer_controllers.daemonset.controller:DaemonSetController",
    options=DaemonSetOptions,
    permissions=(
        allow("get list watch", "daemonsets.apps"),
        allow("update", "daemonsets.apps/status"),
        allow("list watch create delete patch", "pods"),
        allow("get list watch create update patch delete", "controllerrevisions.apps"),
        allow("list watch", "nodes"),
        # Its pods have owner references with blockOwnerDeletion. Some servers require this permission for them.
        allow("update", "daemonsets.apps/finalizers"),
        RECORD_EVENTS,
    ),
    metrics=(
        "daemonset_controller_stale_sync_skips",
        "daemonset_controller_stale_sync_skips_total",
    ),
    sharded_by="owner",
    page="daemonset.md",
    differs="hashes in names and labels differ; the template decides which revision is the current one",
)
