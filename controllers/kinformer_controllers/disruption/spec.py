"""The disruption controller: writes into each PodDisruptionBudget's status how many pods may be evicted now."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="disruption-controller",
    aliases=("disruption",),
    summary="keeps the status of PodDisruptionBudgets, which decides about evictions",
    factory="kinformer_controllers.disruption.controller:DisruptionController",
    permissions=(
        allow("list watch", "poddisruptionbudgets.policy"),
        allow("update", "poddisruptionbudgets.policy/status"),
        allow(
            "list watch", "pods", "replicationcontrollers", "replicasets.apps", "deployments.apps", "statefulsets.apps"
        ),
        # Stale DisruptionTarget conditions are set to False.
        allow("update", "pods/status"),
        # A pod's controller may be of any kind. Its scale has the desired number of pods.
        allow("get", "*.*/scale"),
        RECORD_EVENTS,
    ),
    sharded_by="namespace",
    page="disruption.md",
    differs="if a change of labels takes a pod from a budget, the budget is counted at once",
)
