"""The ReplicationController controller, as kube-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import enable_garbage_collector

__all__ = ("ReplicationControllerOptions", "SPEC")


@dataclass(frozen=True)
class ReplicationControllerOptions:
    concurrent_rc_syncs: int = workers(5, "ReplicationControllers")
    enable_garbage_collector: bool = enable_garbage_collector()


SPEC: Final = ControllerSpec(
    name="replicationcontroller-controller",
    aliases=("replicationcontroller",),
    summary="the same, for another kind",
    factory="kinformer_controllers.replicationcontroller.controller:make_controller",
    options=ReplicationControllerOptions,
    permissions=(
        allow("get list watch", "replicationcontrollers"),
        allow("update", "replicationcontrollers/status"),
        allow("list watch create delete patch", "pods"),
        # Its pods have owner references with blockOwnerDeletion. Some servers require this permission for them.
        allow("update", "replicationcontrollers/finalizers"),
        RECORD_EVENTS,
    ),
    sharded_by="owner",
    page="deployment.md",
    differs="as `replicaset`",
)
