"""The options of the ReplicaSet controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers

__all__ = ("ReplicaSetOptions",)


@dataclass(frozen=True)
class ReplicaSetOptions:
    concurrent_replicaset_syncs: int = workers(5, "ReplicaSets")
