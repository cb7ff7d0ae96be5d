"""The cloud node lifecycle controller, as Kubernetes' cloud-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import cloud_provider, node_monitor_period

__all__ = ("CloudNodeLifecycleOptions", "SPEC")


@dataclass(frozen=True)
class CloudNodeLifecycleOptions:
    cloud_provider: str = cloud_provider()
    node_monitor_period: float = node_monitor_period()


SPEC: Final = ControllerSpec(
    name="cloud-node-lifecycle-controller",
    aliases=("cloud-node-lifecycle",),
    summary="deletes nodes whose machine is gone",
    factory="kinformer_controllers.cloudnodelifecycle.controller:make_controller",
    options=CloudNodeLifecycleOptions,
    permissions=(
        allow("get list watch patch delete", "nodes"),
        RECORD_EVENTS,
    ),
    on_leader="one check of all nodes",
    page="cloud.md",
    differs="a node is deleted by its uid",
)
