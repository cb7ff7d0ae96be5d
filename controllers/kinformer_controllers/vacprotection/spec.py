"""The protection of VolumeAttributesClasses, as in kube-controller-manager: one in use is not deleted."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="volumeattributesclass-protection-controller",
    summary="protects VolumeAttributesClasses that claims or volumes use from deletion",
    factory="kinformer_controllers.vacprotection.controller:ClassProtection",
    permissions=(
        allow("list watch update", "volumeattributesclasses.storage.k8s.io"),
        allow("list watch", "persistentvolumeclaims", "persistentvolumes"),
    ),
    on_leader="claims of all namespaces use a class",
    page="volumes.md",
    differs="before the finalizer is removed, the server is asked for claims and volumes that use the class",
)
