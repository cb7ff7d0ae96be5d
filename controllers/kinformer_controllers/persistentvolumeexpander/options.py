"""The options of the expansion of volumes."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer_controllers.shared.options import enable_hostpath_provisioner

__all__ = ("ExpanderOptions",)


@dataclass(frozen=True)
class ExpanderOptions:
    enable_hostpath_provisioner: bool = enable_hostpath_provisioner()
