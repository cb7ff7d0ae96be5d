"""Conditions: an object's list of what is true of it, one entry a type.

They work on any model's list of conditions. The lists that they give are new: those of a cached object stay as they
are.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

__all__ = ("Condition", "get_condition", "set_condition", "without_condition")


class Condition(Protocol):
    """What all kinds of conditions have."""

    type: str
    status: str
    reason: str | None
    last_transition_time: datetime | None


C = TypeVar("C", bound=Condition)


def get_condition(conditions: Sequence[C] | None, type_: str) -> C | None:
    """The condition of that type, if there is one."""
    return next((condition for condition in conditions or () if condition.type == type_), None)


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


def without_condition(conditions: Sequence[C] | None, type_: str) -> list[C]:
    """The conditions but for that of the type."""
    return [condition for condition in conditions or () if condition.type != type_]
