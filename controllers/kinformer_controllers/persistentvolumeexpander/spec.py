"""The expansion of volumes, as in kube-controller-manager: it expands a volume if its claim asks for more storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import enable_hostpath_provisioner

__all__ = ("ExpanderOptions", "SPEC")


@dataclass(frozen=True)
class ExpanderOptions:
    enable_hostpath_provisioner: bool = enable_hostpath_provisioner()


SPEC: Final = ControllerSpec(
    name="persistentvolume-expander-controller",
    aliases=("persistentvolume-expander",),
    summary="enlarges volumes of claims that ask for more",
    factory="kinformer_controllers.persistentvolumeexpander.controller:make_controller",
    options=ExpanderOptions,
    permissions=(
        allow("list watch", "persistentvolumeclaims"),
        allow("patch update", "persistentvolumeclaims/status"),
        allow("get update", "persistentvolumes"),
        RECORD_EVENTS,
    ),
    metrics=("storage_operation_duration_seconds",),
    sharded_by="namespace",
    page="volumes.md",
    differs="plug-ins are Python packages",
)
