"""Quota: measuring how much objects use, and checking that it stays within quotas.

An :class:`Evaluator` measures the objects of one resource, a :class:`~.registry.Registry` knows the evaluators, and
:func:`calculate_usage` counts a namespace. Three parts use this package:

- admission (:mod:`kinformer_controllers.shared.quota.admission`) adds the usage of a request before it is stored;
- the quota controller (:mod:`kinformer_controllers.resourcequota`) counts again, and subtracts what was deleted;
- the group quotas (:mod:`kinformer_controllers.groupquota`) do both for quotas over many namespaces.
"""

from __future__ import annotations

from kinformer_controllers.shared.quota.evaluator import CREATE, Evaluator, Request
from kinformer_controllers.shared.quota.registry import calculate_usage, core_registry

__all__ = ("CREATE", "Evaluator", "Request", "calculate_usage", "core_registry")
