"""The options of the expansion of volumes."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import option

__all__ = ("ExpanderOptions",)


@dataclass(frozen=True)
class ExpanderOptions:
    enable_hostpath_provisioner: bool = option(
        False, "Make directories of this machine for storage classes of kubernetes.io/host-path. For tests only."
    )
