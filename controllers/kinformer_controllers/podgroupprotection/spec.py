"""The protection of PodGroups, as in kube-controller-manager: one that pods belong to is not deleted."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import GateOptions

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="podgroup-protection-controller",
    summary="protects PodGroups that pods belong to from deletion",
    factory="kinformer_controllers.podgroupprotection.controller:PodGroupProtection",
    options=GateOptions,
    permissions=(
        allow("list watch update", "podgroups.scheduling.k8s.io"),
        allow("list watch", "pods"),
    ),
    sharded_by="namespace",
    feature_gate="GenericWorkload",
    page="small.md#podgroups",
    differs="before the finalizer is removed, the server is asked for pods of the group",
)
