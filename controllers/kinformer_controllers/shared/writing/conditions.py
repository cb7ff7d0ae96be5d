"""Setting a condition by the rule of Kubernetes' older kinds: Deployment, ReplicaSet, Pod, PersistentVolumeClaim.

Operators should use :func:`kinformer.operator.set_condition`, which follows the API conventions. The rule here differs.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from kinformer.operator.conditions import get_condition, without_condition

__all__ = ("set_condition",)


class Condition(Protocol):
    """A condition with the time of its last transition."""

    type: str
    status: str
    reason: str | None
    last_transition_time: datetime | None


C = TypeVar("C", bound=Condition)


def set_condition(conditions: Sequence[C] | None, condition: C) -> list[C]:
    """
    Return the conditions, with this one in place of the one with the same type.

    If the existing condition has the same status and reason, it is kept, with its message and its times. If only the
    status is the same, the new condition gets the existing lastTransitionTime.
    """
    current = get_condition(conditions, condition.type)
    if current is not None and current.status == condition.status:
        if current.reason == condition.reason:
            return list(conditions or ())
        if current.last_transition_time is not None:
            condition = copy.copy(condition)
            condition.last_transition_time = current.last_transition_time
    return [*without_condition(conditions, condition.type), condition]
