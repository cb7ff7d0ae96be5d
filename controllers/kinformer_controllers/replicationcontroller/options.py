"""The options of the ReplicationController controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers
from kinformer_controllers.shared.options import enable_garbage_collector

__all__ = ("ReplicationControllerOptions",)


@dataclass(frozen=True)
class ReplicationControllerOptions:
    concurrent_rc_syncs: int = workers(5, "ReplicationControllers")
    enable_garbage_collector: bool = enable_garbage_collector()
