"""Quota: measuring how much objects use, and checking that it stays within quotas.

An :class:`Evaluator` measures the objects of one resource, a :class:`Registry` knows the evaluators, and
:func:`calculate_usage` counts a namespace. Three parts use this package:

- admission (:mod:`kinformer_controllers.shared.quota.admission`) adds the usage of a request before it is stored;
- the quota controller (:mod:`kinformer_controllers.resourcequota`) counts again, and subtracts what was deleted;
- the group quotas (:mod:`kinformer_controllers.groupquota`) do both for quotas over many namespaces.
"""

from __future__ import annotations

from kinformer_controllers.shared.quota.counting import (
    claim_evaluator,
    count_name,
    device_claim_evaluator,
    object_count_evaluator,
    service_evaluator,
)
from kinformer_controllers.shared.quota.evaluator import (
    CREATE,
    DELETE,
    UPDATE,
    ConstraintError,
    Evaluator,
    Request,
    UsageStats,
    UsageStatsOptions,
)
from kinformer_controllers.shared.quota.limits import Quota, ScopeError, ScopeRequirement, quota_of, scopes_of
from kinformer_controllers.shared.quota.pods import PodEvaluator
from kinformer_controllers.shared.quota.registry import (
    IGNORED_RESOURCES,
    Registry,
    Usage,
    calculate_usage,
    core_registry,
)
from kinformer_controllers.shared.quota.sources import CacheNotReady, ClientSource, InformerSource, ObjectSource
from kinformer_controllers.shared.quota.views import UnreadableObject

__all__ = (
    "CREATE",
    "DELETE",
    "IGNORED_RESOURCES",
    "UPDATE",
    "CacheNotReady",
    "ClientSource",
    "ConstraintError",
    "Evaluator",
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
