"""The options of the binder."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, option

__all__ = ("BinderOptions",)


@dataclass(frozen=True)
class BinderOptions:
    pvclaimbinder_sync_period: float = duration(
        15.0, "How often every PersistentVolume and PersistentVolumeClaim is looked at.", minimum=0.1
    )
    enable_dynamic_provisioning: bool = option(True, "Have volumes made for claims whose storage class says how.")
    enable_hostpath_provisioner: bool = option(
        False, "Make directories of this machine for storage classes of kubernetes.io/host-path. For tests only."
    )
