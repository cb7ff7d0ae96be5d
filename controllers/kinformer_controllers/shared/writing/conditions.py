"""Conditions as Kubernetes' own controllers set them, on any model's list.

Operators of one's own set them as the API conventions have it: :func:`kinformer.operator.set_condition`. Older kinds
(Deployment, ReplicaSet, Pod, PersistentVolumeClaim) have another rule, which is this one.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from kinformer.operator.conditions import get_condition, without_condition

__all__ = ("set_condition",)


class Condition(Protocol):
    """A condition whose time can be set."""

    type: str
    status: str
    reason: str | None
    last_transition_time: datetime | None


C = TypeVar("C", bound=Condition)


def set_condition(conditions: Sequence[C] | None, condition: C) -> list[C]:
    """
    The conditions with this one in the place of what there was of its type.

    One that says the same already, by its status and reason, is left: its message and times are of when it came to be.
    One whose status stays keeps the time of its last transition.
    """
    current = get_condition(conditions, condition.type)
    if current is not None and current.status == condition.status:
        if current.reason == condition.reason:
            return list(conditions or ())
        if current.last_transition_time is not None:
            condition = copy.copy(condition)
            condition.last_transition_time = current.last_transition_time
    return [*without_condition(conditions, condition.type), condition]
