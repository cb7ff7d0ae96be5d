"""quota_pods: what a pod uses, the scopes it is in, and what a quota demands of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.clock import FakeClock
from kinformer.meta.resourcelist import dump
from kinformer_controllers.shared.quota.evaluator import ConstraintError
from kinformer_controllers.shared.quota.limits import ScopeRequirement
from kinformer_controllers.shared.quota.pods import PodEvaluator, is_quota_tracked

__all__ = ("answer",)


def answer(case: Any) -> Any:
    pod, clock = case["pod"], FakeClock(datetime.fromisoformat(case["now"]))
    evaluator = PodEvaluator(clock=clock)
    try:
        evaluator.constraints(case["required"] or (), pod)
        constraints = ""
    except ConstraintError as error:
        constraints = str(error)
    return {
        "usage": dump(evaluator.usage(pod)),
        "scopes": {text: evaluator.matches_scope(requirement, pod) for text, requirement in SCOPES.items()},
        "quotaTracked": is_quota_tracked(pod, clock),
        "constraints": constraints,
        "matching": evaluator.matching_resources(case["resources"] or ()),
    }


SCOPES = {
    "BestEffort": ScopeRequirement("BestEffort"),
    "NotBestEffort": ScopeRequirement("NotBestEffort"),
    "Terminating": ScopeRequirement("Terminating"),
    "NotTerminating": ScopeRequirement("NotTerminating"),
    "CrossNamespacePodAffinity": ScopeRequirement("CrossNamespacePodAffinity"),
    "PriorityClass": ScopeRequirement("PriorityClass"),
    "PriorityClass in (high,mid)": ScopeRequirement("PriorityClass", "In", ("high", "mid")),
    "PriorityClass notin (high)": ScopeRequirement("PriorityClass", "NotIn", ("high",)),
}
