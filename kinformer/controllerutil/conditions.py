"""Conditions of an object: a list with one entry for each type of condition.

The functions take lists of conditions of any model, or of your own Structs. They return new lists, so a cached object
is not changed. The last transition time changes only if the status changes, not if the reason, the message or the
generation does.

:func:`set_condition` is for your own custom resources, with :class:`kinformer.models.V1Condition`, the API's
``metav1.Condition``. :func:`put_condition` is for the older kinds of Kubernetes, which have condition types of their
own: Deployment, ReplicaSet, Pod, PersistentVolumeClaim. :func:`replace_condition` is the rule of both for other types.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar, cast

from kinformer.meta.validation import condition_reason_errors
from kinformer.models import V1Condition

__all__ = (
    "Condition",
    "conditions_patch",
    "get_condition",
    "is_condition_true",
    "put_condition",
    "replace_condition",
    "set_condition",
    "without_condition",
)


class Condition(Protocol):
    """The fields that all kinds of conditions have."""

    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def reason(self) -> str | None: ...

    @property
    def last_transition_time(self) -> datetime | None: ...


C = TypeVar("C", bound=Condition)


def get_condition(conditions: Sequence[C] | None, type_: str) -> C | None:
    """The condition of a type, None if there is none."""
    return next((condition for condition in conditions or () if condition.type == type_), None)


def is_condition_true(conditions: Sequence[Condition] | None, type_: str) -> bool:
    """Whether there is a condition of a type with the status ``True``."""
    found = get_condition(conditions, type_)
    return found is not None and found.status == "True"


def conditions_patch(conditions: Sequence[Condition] | None, written: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """
    Return the fields of a strategic merge patch of a status that writes some of its conditions, as JSON.

    The patch says the order, because a server puts new entries first otherwise. Conditions that are there keep their
    places, and new ones follow them.
    """
    types = list(dict.fromkeys([*(each.type for each in conditions or ()), *(each["type"] for each in written)]))
    ordered = sorted(written, key=lambda each: types.index(each["type"]))
    return {"$setElementOrder/conditions": [{"type": type_} for type_ in types], "conditions": ordered}


def without_condition(conditions: Sequence[C] | None, type_: str) -> list[C]:
    """The conditions of all other types."""
    return [condition for condition in conditions or () if condition.type != type_]


def set_condition(
    conditions: Sequence[V1Condition] | None,
    type_: str,
    status: bool | None,
    *,
    reason: str,
    message: str = "",
    observed_generation: int | None = None,
    now: datetime,
) -> list[V1Condition]:
    """
    Return the conditions with a new one, which replaces the condition of the same type or is appended.

    The last transition time changes only if the status changes, not if the reason, the message or the generation
    changes (apimachinery's ``meta.SetStatusCondition``). So if nothing has changed, the new list is equal to the old
    one.

    :param conditions: the old list; it is not changed
    :param type_: the type of the condition, such as ``Ready``
    :param status: None means ``Unknown``
    :param reason: the reason for programs, a word in CamelCase: ``DeploymentReady``
    :param message: a sentence for people
    :param observed_generation: the ``metadata.generation`` of the object that the condition is for
    :param now: the current time: ``context.clock.now()``
    :raises ValueError: if the API would not accept the reason, or `now` has no time zone
    """
    from kinformer.models import V1Condition

    if condition_reason_errors(reason):
        raise ValueError(f"condition {type_} has the reason {reason!r}: want a word in CamelCase, as DeploymentReady")
    if now.tzinfo is None:
        raise ValueError(f"condition {type_} has the time {now} without a zone: want context.clock.now()")
    condition = V1Condition(
        type=type_,
        status={None: "Unknown", True: "True", False: "False"}[status],
        reason=reason,
        message=message,
        observed_generation=observed_generation,
        # The API keeps whole seconds. With a fraction, the written condition would differ from the one that is read.
        last_transition_time=now.replace(microsecond=0),
    )
    return replace_condition(conditions, condition)


def replace_condition(conditions: Sequence[C] | None, condition: C) -> list[C]:
    """
    Return the conditions, with this one in the place of the one with the same type, or at the end.

    If the status is the same as before, the last transition time is kept.

    :param condition: has the current time as its lastTransitionTime. It is not changed
    """
    current = get_condition(conditions, condition.type)
    if current is None:
        return [*(conditions or ()), condition]
    condition = _since(current, condition)
    return [condition if found is current else found for found in conditions or ()]


def put_condition(conditions: Sequence[C] | None, condition: C) -> list[C]:
    """
    Return the conditions, with this one at the end and in place of the one with the same type.

    If the existing condition has the same status and the same reason, it is kept, with its message and its times. This
    is the rule of Kubernetes' older kinds (``SetDeploymentCondition`` and its like).

    :param condition: has the current time as its lastTransitionTime. It is not changed
    """
    current = get_condition(conditions, condition.type)
    if current is not None:
        if (current.status, current.reason) == (condition.status, condition.reason):
            return list(conditions or ())
        condition = _since(current, condition)
    return [*without_condition(conditions, condition.type), condition]


def _since(current: C, condition: C) -> C:
    """The condition with the transition time of the current one, if the status is the same."""
    if current.status != condition.status or current.last_transition_time is None:
        return condition
    kept: Any = copy.copy(condition)
    kept.last_transition_time = current.last_transition_time
    return cast("C", kept)
