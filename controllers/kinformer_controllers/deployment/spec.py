"""The Deployment controller, as kube-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("DeploymentOptions", "SPEC")


@dataclass(frozen=True)
class DeploymentOptions:
    concurrent_deployment_syncs: int = workers(5, "Deployments")


SPEC: Final = ControllerSpec(
    name="deployment-controller",
    aliases=("deployment",),
    summary="rolls out ReplicaSets, and keeps their history",
    factory="kinformer_controllers.deployment.controller:DeploymentController",
    options=DeploymentOptions,
    permissions=(
        allow("get list watch update", "deployments.apps"),
        allow("update", "deployments.apps/status"),
        allow("get list watch create update patch delete", "replicasets.apps"),
        allow("list watch", "pods"),
        # Its ReplicaSets have owner references with blockOwnerDeletion. Some servers require this permission for them.
        allow("update", "deployments.apps/finalizers"),
        RECORD_EVENTS,
    ),
    sharded_by="namespace",
    page="deployment.md",
    differs=(
        "hashes in names differ; the template decides which ReplicaSet is the new one; the status is "
        "written once in a sync"
    ),
)
