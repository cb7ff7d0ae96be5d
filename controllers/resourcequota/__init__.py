"""The ResourceQuota controller, as kube-controller-manager has it."""

from __future__ import annotations

from controllers.resourcequota.controller import ResourceQuotaController, make_controller
from controllers.resourcequota.monitor import QuotaMonitor
from controllers.resourcequota.replenishment import (
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
