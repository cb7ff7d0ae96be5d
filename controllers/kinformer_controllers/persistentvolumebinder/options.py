"""The options of the binder."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, option
from kinformer_controllers.shared.options import enable_hostpath_provisioner

__all__ = ("BinderOptions",)


@dataclass(frozen=True)
class BinderOptions:
    pvclaimbinder_sync_period: float = duration(
        15.0, "How often every PersistentVolume and PersistentVolumeClaim is checked.", minimum=0.1
    )
    enable_dynamic_provisioning: bool = option(
        True, "Whether volumes are provisioned for claims by their storage class."
    )
    enable_hostpath_provisioner: bool = enable_hostpath_provisioner()
