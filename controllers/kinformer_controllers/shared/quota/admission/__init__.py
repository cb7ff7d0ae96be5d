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
from kinformer_controllers.shared.quota.admission.time_limit import EvaluationTimedOut, time_limit
from kinformer_controllers.shared.quota.admission.waiters import Holder, NoRoom, Reservations

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
