"""Quota's admission: the check that kube-apiserver makes, as a library, and as a plug-in of the embedded server."""

from __future__ import annotations

from controllers.quota.admission.accessor import QuotaAccessor, ResourceQuotaAccessor
from controllers.quota.admission.check import LimitedResource, QuotaRefused, UncoveredScopes, check_request
from controllers.quota.admission.evaluator import EvaluationTimedOut, QuotaEvaluator, Reservations
from controllers.quota.admission.plugin import QuotaPlugin, make_plugin

__all__ = (
    "EvaluationTimedOut",
    "LimitedResource",
    "QuotaAccessor",
    "QuotaEvaluator",
    "QuotaPlugin",
    "QuotaRefused",
    "Reservations",
    "ResourceQuotaAccessor",
    "UncoveredScopes",
    "check_request",
    "make_plugin",
)
