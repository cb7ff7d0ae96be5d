"""The persistent volume binder, as in kube-controller-manager: it binds claims to volumes, and reclaims volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, option
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import enable_hostpath_provisioner

__all__ = ("BinderOptions", "SPEC")


@dataclass(frozen=True)
class BinderOptions:
    pvclaimbinder_sync_period: float = duration(
        15.0, "How often every PersistentVolume and PersistentVolumeClaim is checked.", minimum=0.1
    )
    enable_dynamic_provisioning: bool = option(
        True, "Whether volumes are provisioned for claims by their storage class."
    )
    enable_hostpath_provisioner: bool = enable_hostpath_provisioner()


SPEC: Final = ControllerSpec(
    name="persistentvolume-binder-controller",
    aliases=("persistentvolume-binder",),
    summary="binds claims to volumes, makes and reclaims volumes",
    factory="kinformer_controllers.persistentvolumebinder.controller:make_controller",
    options=BinderOptions,
    permissions=(
        allow("get list watch create update delete", "persistentvolumes"),
        allow("update", "persistentvolumes/status"),
        allow("get list watch update", "persistentvolumeclaims"),
        allow("update", "persistentvolumeclaims/status"),
        allow("list watch", "storageclasses.storage.k8s.io"),
        allow("list watch create delete", "pods"),
        allow("list", "nodes"),
        RECORD_EVENTS,
    ),
    metrics=(
        "retroactive_storageclass_errors_total",
        "retroactive_storageclass_total",
        "storage_operation_duration_seconds",
        "volume_operation_errors_total",
        "volume_operation_total_seconds",
    ),
    on_leader="two claims that are bound at the same time could choose the same volume",
    page="volumes.md",
    differs="a claim that waits is checked as soon as a volume is free; plug-ins are Python packages",
)
