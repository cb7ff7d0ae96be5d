"""The options of the StatefulSet controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers

__all__ = ("StatefulSetOptions",)


@dataclass(frozen=True)
class StatefulSetOptions:
    concurrent_statefulset_syncs: int = workers(5, "StatefulSets")
