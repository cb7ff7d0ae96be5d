"""The DaemonSet controller's metrics, under kube-controller-manager's names."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

__all__ = ("STALE_SYNC_SKIPS",)

STALE_SYNC_SKIPS: Final = Counter(
    "daemonset_controller_stale_sync_skips",
    "Syncs that were put off because a cache was older than the last write.",
    ["group", "resource"],
)
