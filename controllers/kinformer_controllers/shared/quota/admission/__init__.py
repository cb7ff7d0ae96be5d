"""Quota admission: the check that kube-apiserver makes, as a library and as a plug-in of the embedded server."""

from __future__ import annotations

from kinformer_controllers.shared.quota.admission.accessor import QuotaAccessor, ResourceQuotaAccessor
from kinformer_controllers.shared.quota.admission.check import (
    LimitedResource,
    QuotaRefused,
    UncoveredScopes,
    check_request,
)
from kinformer_controllers.shared.quota.admission.evaluator import QuotaEvaluator
from kinformer_controllers.shared.quota.admission.plugin import QuotaPlugin, make_plugin
from kinformer_controllers.shared.quota.admission.waiters import (
    EvaluationTimedOut,
    Holder,
    NoRoom,
    Reservations,
    time_limit,
)

__all__ = (
    "EvaluationTimedOut",
    "Holder",
    "LimitedResource",
    "NoRoom",
    "QuotaAccessor",
    "QuotaEvaluator",
    "QuotaPlugin",
    "QuotaRefused",
    "Reservations",
    "ResourceQuotaAccessor",
    "UncoveredScopes",
    "check_request",
    "make_plugin",
    "time_limit",
)
