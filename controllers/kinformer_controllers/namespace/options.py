"""The options of the namespace controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, workers

__all__ = ("NamespaceOptions",)


@dataclass(frozen=True)
class NamespaceOptions:
    concurrent_namespace_syncs: int = workers(10, "terminating namespaces")
    namespace_sync_period: float = duration(300.0, "How often every terminating namespace is checked; 0 for never.")
