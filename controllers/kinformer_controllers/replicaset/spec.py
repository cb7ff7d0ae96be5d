"""The ReplicaSet controller, as kube-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("ReplicaSetOptions", "SPEC")


@dataclass(frozen=True)
class ReplicaSetOptions:
    concurrent_replicaset_syncs: int = workers(5, "ReplicaSets")


SPEC: Final = ControllerSpec(
    name="replicaset-controller",
    aliases=("replicaset",),
    summary="keeps the number of pods",
    factory="kinformer_controllers.replicaset.controller:make_controller",
    options=ReplicaSetOptions,
    permissions=(
        allow("get list watch", "replicasets.apps"),
        allow("update", "replicasets.apps/status"),
        allow("list watch create delete patch", "pods"),
        # Its pods have owner references with blockOwnerDeletion. Some servers require this permission for them.
        allow("update", "replicasets.apps/finalizers"),
        RECORD_EVENTS,
    ),
    sharded_by="owner",
    page="deployment.md",
    differs="a sync waits while a cache does not show its own last write",
)
