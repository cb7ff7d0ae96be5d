"""What the disruption controller may do at the server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "poddisruptionbudgets.policy"),
    allow("update", "poddisruptionbudgets.policy/status"),
    allow("list watch", "pods", "replicationcontrollers", "replicasets.apps", "deployments.apps", "statefulsets.apps"),
    # DisruptionTarget conditions that are out of date are set to false.
    allow("update", "pods/status"),
    # Whatever controls a pod says how many there should be by its scale.
    allow("get", "*.*/scale"),
    RECORD_EVENTS,
)
