"""The garbage collector's metrics, under kube-controller-manager's names."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

__all__ = ("RESOURCES_SYNC_ERRORS",)

RESOURCES_SYNC_ERRORS: Final = Counter(
    "garbagecollector_controller_resources_sync_error", "Number of garbage collector resources sync errors"
)
