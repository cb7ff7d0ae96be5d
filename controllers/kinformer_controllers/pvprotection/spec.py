"""The protection of volumes, as in kube-controller-manager: a bound volume is not deleted."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="persistentvolume-protection-controller",
    aliases=("pv-protection",),
    summary="protects bound volumes from deletion",
    factory="kinformer_controllers.pvprotection.controller:VolumeProtection",
    permissions=(allow("list watch update", "persistentvolumes"),),
    sharded_by="name",
    page="volumes.md",
    differs="the finalizer is removed only if nobody has changed the volume since it was read",
)
