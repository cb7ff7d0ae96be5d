"""The ResourceQuota controller, as kube-controller-manager has it."""

from __future__ import annotations

from kinformer_controllers.resourcequota.controller import ResourceQuotaController, make_controller
from kinformer_controllers.shared.quota.monitor import QuotaMonitor
from kinformer_controllers.shared.quota.replenishment import (
    NoReplenishmentController,
    ReplenishmentController,
    ReplenishmentControllerFactory,
    ReplenishmentControllerOptions,
)

__all__ = (
    "NoReplenishmentController",
    "QuotaMonitor",
    "ReplenishmentController",
    "ReplenishmentControllerFactory",
    "ReplenishmentControllerOptions",
    "ResourceQuotaController",
    "make_controller",
)
