"""The permissions of the disruption controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "poddisruptionbudgets.policy"),
    allow("update", "poddisruptionbudgets.policy/status"),
    allow("list watch", "pods", "replicationcontrollers", "replicasets.apps", "deployments.apps", "statefulsets.apps"),
    # Stale DisruptionTarget conditions are set to False.
    allow("update", "pods/status"),
    # A pod's controller may be of any kind. Its scale has the desired number of pods.
    allow("get", "*.*/scale"),
    RECORD_EVENTS,
)
