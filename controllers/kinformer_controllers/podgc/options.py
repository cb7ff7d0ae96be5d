"""The options of the pod garbage collector."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import option

__all__ = ("PodGCOptions",)


@dataclass(frozen=True)
class PodGCOptions:
    terminated_pod_gc_threshold: int = option(
        12500,
        "How many terminated pods may exist before the oldest of them are deleted. 0 or less: they are never deleted.",
    )
