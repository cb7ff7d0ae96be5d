"""The options of the ReplicationController controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import option, workers

__all__ = ("ReplicationControllerOptions",)


@dataclass(frozen=True)
class ReplicationControllerOptions:
    concurrent_rc_syncs: int = workers(5, "ReplicationControllers")
    enable_garbage_collector: bool = option(
        True, "Whether the cluster's garbage collector runs: without it no pod is adopted or released."
    )
