"""The status of an autoscaler: its conditions, and whether it has changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.controllerutil.conditions import replace_condition, without_condition
from kinformer.models import V2HorizontalPodAutoscalerCondition, V2HorizontalPodAutoscalerStatus

__all__ = ("remove_condition", "set_condition", "shown")


def set_condition(
    status: V2HorizontalPodAutoscalerStatus, type_: str, value: bool, reason: str, message: str, now: datetime
) -> None:
    """Set a condition. Its time changes only with its value."""
    condition = V2HorizontalPodAutoscalerCondition(
        type=type_,
        status="True" if value else "False",
        reason=reason,
        message=message,
        last_transition_time=now.replace(microsecond=0),
    )
    status.conditions = replace_condition(status.conditions, condition)


def remove_condition(status: V2HorizontalPodAutoscalerStatus, type_: str) -> None:
    """Remove a condition, if it is there."""
    status.conditions = without_condition(status.conditions, type_)


def shown(status: V2HorizontalPodAutoscalerStatus | None) -> tuple[Any, ...]:
    """
    The fields of a status that are compared.

    As in Kubernetes, a missing list is the same as an empty one, and a missing number is the same as zero.
    """
    if status is None:
        return (0, 0, None, [], [])
    return (
        status.current_replicas or 0,
        status.desired_replicas or 0,
        status.last_scale_time,
        status.current_metrics or [],
        status.conditions or [],
    )
