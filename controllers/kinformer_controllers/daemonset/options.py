"""The options of the DaemonSet controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers

__all__ = ("DaemonSetOptions",)


@dataclass(frozen=True)
class DaemonSetOptions:
    concurrent_daemonset_syncs: int = workers(2, "DaemonSets")
