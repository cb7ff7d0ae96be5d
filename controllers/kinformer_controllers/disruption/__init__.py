"""The disruption controller: says in every PodDisruptionBudget's status how many pods may be evicted now."""

from __future__ import annotations

from kinformer_controllers.disruption.controller import DisruptionController, make_controller

__all__ = ("DisruptionController", "make_controller")
