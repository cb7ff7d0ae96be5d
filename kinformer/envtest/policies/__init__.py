"""ValidatingAdmissionPolicies, and the expressions that they and webhooks have in common."""

from __future__ import annotations

from kinformer.envtest.policies.conditions import Conditions, Subject
from kinformer.envtest.policies.policies import Policies

__all__ = ("Conditions", "Policies", "Subject")
