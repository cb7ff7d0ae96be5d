"""The options of the garbage collector."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers
from kinformer_controllers.shared.options import enable_garbage_collector

__all__ = ("GarbageCollectorOptions",)


@dataclass(frozen=True)
class GarbageCollectorOptions:
    concurrent_gc_syncs: int = workers(20, "objects whose owners may be gone, and as many orphaned owners,")
    enable_garbage_collector: bool = enable_garbage_collector()
