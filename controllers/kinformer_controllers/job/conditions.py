"""A Job's conditions: making, finding and setting them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kinformer.controllerutil.conditions import get_condition
from kinformer.models import V1Job, V1JobCondition

__all__ = (
    "condition_of",
    "ensure_condition",
    "failure_target",
    "is_condition_true",
    "new_condition",
    "success_criteria_met",
)


def new_condition(type_: str, reason: str, message: str, now: datetime, *, status: str = "True") -> V1JobCondition:
    moment = now.replace(microsecond=0)  # times in the API have whole seconds
    return V1JobCondition(
        type=type_,
        status=status,
        last_probe_time=moment,
        last_transition_time=moment,
        reason=reason,
        message=message,
    )


def success_criteria_met(reason: str, message: str, now: datetime) -> V1JobCondition:
    """Make the condition of a successful Job. It becomes Complete when its pods are gone and counted."""
    return new_condition("SuccessCriteriaMet", reason, message, now)


def failure_target(reason: str, message: str, now: datetime) -> V1JobCondition:
    """Make the condition of a failed Job. It becomes Failed when its pods are gone and counted."""
    return new_condition("FailureTarget", reason, message, now)


def condition_of(job: V1Job, type_: str) -> V1JobCondition | None:
    """Return the condition of that type, true or not; None if there is none."""
    return get_condition(job.status.conditions if job.status is not None else None, type_)


def is_condition_true(job: V1Job, type_: str) -> bool:
    condition = condition_of(job, type_)
    return condition is not None and condition.status == "True"


def ensure_condition(
    conditions: Sequence[V1JobCondition] | None, wanted: V1JobCondition
) -> tuple[list[V1JobCondition], bool]:
    """
    Return the conditions with this one, and whether they have changed.

    A false condition is not added if there was none of its type.
    """
    result = list(conditions or ())
    for place, condition in enumerate(result):
        if condition.type == wanted.type:
            said = (condition.status, condition.reason or "", condition.message or "")
            if said == (wanted.status, wanted.reason, wanted.message):
                return result, False
            result[place] = wanted
            return result, True
    if wanted.status == "False":
        return result, False
    return [*result, wanted], True
