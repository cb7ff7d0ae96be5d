"""Warnings about SELinux, as in kube-controller-manager: of pods that share a volume and have different labels."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="selinux-warning-controller",
    summary="warns of pods that share a volume and have different SELinux labels",
    factory="kinformer_controllers.selinuxwarning.controller:SELinuxWarning",
    permissions=(
        allow("list watch", "persistentvolumes", "persistentvolumeclaims", "pods", "csidrivers.storage.k8s.io"),
        RECORD_EVENTS,
    ),
    metrics=("selinux_warning_controller_selinux_volume_conflict",),
    on_leader="pods of several namespaces can share a volume",
    on_by_default=False,
    page="volumes.md#selinux-labels-of-pods-that-share-a-volume",
    differs="a pod that replaced another one of its name has no volumes of the old one",
)
