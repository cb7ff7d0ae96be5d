"""The ephemeral volume controller, as in kube-controller-manager: it makes the claims of pods' ephemeral volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("EphemeralVolumeOptions", "SPEC")


@dataclass(frozen=True)
class EphemeralVolumeOptions:
    concurrent_ephemeralvolume_syncs: int = workers(5, "pods with ephemeral volumes")


SPEC: Final = ControllerSpec(
    name="ephemeral-volume-controller",
    aliases=("ephemeral-volume",),
    summary="makes the claims of pods' ephemeral volumes",
    factory="kinformer_controllers.ephemeralvolume.controller:EphemeralVolumes",
    options=EphemeralVolumeOptions,
    permissions=(
        allow("list watch", "pods"),
        # With the admission plug-in OwnerReferencesPermissionEnforcement: the claim blocks the deletion of its pod.
        allow("update", "pods/finalizers"),
        allow("list watch create", "persistentvolumeclaims"),
        RECORD_EVENTS,
    ),
    metrics=(
        "ephemeral_volume_controller_create_failures_total",
        "ephemeral_volume_controller_create_total",
    ),
    sharded_by="namespace",
    page="volumes.md#claims-of-ephemeral-volumes",
)
