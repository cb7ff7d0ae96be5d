"""Quota: what objects use of what is limited, and whether there is enough of it left.

An :class:`Evaluator` measures the objects of one resource, a :class:`Registry` knows the evaluators, and
:func:`calculate_usage` counts a namespace. Admission (:mod:`controllers.quota.admission`) charges requests at once; the
quota controller (:mod:`controllers.resourcequota`) recounts and gives back; :mod:`controllers.quota.webhook` does both
for quotas over many namespaces.
"""

from __future__ import annotations

from controllers.quota.claims import claim_evaluator
from controllers.quota.counts import count_name, object_count_evaluator
from controllers.quota.device_claims import device_claim_evaluator
from controllers.quota.evaluator import (
    CREATE,
    DELETE,
    UPDATE,
    ConstraintError,
    Evaluator,
    GenericEvaluator,
    Request,
    UsageStats,
    UsageStatsOptions,
)
from controllers.quota.limits import Quota, quota_of
from controllers.quota.pods import PodEvaluator
from controllers.quota.registry import IGNORED_RESOURCES, Registry, core_registry
from controllers.quota.scopes import ScopeError, ScopeRequirement, scopes_of
from controllers.quota.services import service_evaluator
from controllers.quota.sources import CacheNotReady, ClientSource, InformerSource, ObjectSource
from controllers.quota.usage import Usage, calculate_usage
from controllers.quota.views import UnreadableObject

__all__ = (
    "CREATE",
    "DELETE",
    "IGNORED_RESOURCES",
    "UPDATE",
    "CacheNotReady",
    "ClientSource",
    "ConstraintError",
    "Evaluator",
    "GenericEvaluator",
    "InformerSource",
    "ObjectSource",
    "PodEvaluator",
    "Quota",
    "Registry",
    "Request",
    "ScopeError",
    "ScopeRequirement",
    "UnreadableObject",
    "Usage",
    "UsageStats",
    "UsageStatsOptions",
    "calculate_usage",
    "claim_evaluator",
    "core_registry",
    "count_name",
    "device_claim_evaluator",
    "object_count_evaluator",
    "quota_of",
    "scopes_of",
    "service_evaluator",
)
