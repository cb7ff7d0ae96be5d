"""Conditions of an object: a list with one entry for each type of condition.

The functions take lists of conditions of any model, or of your own Structs. They return new lists, so a cached object
is not changed. The last transition time changes only if the status changes, not if the reason, the message or the
generation does.

:func:`set_condition` is for your own custom resources, with :class:`kinformer.models.V1Condition`, the API's
``metav1.Condition``. :func:`put_condition` is for the older kinds of Kubernetes, which have condition types of their
own: Deployment, ReplicaSet, Pod, PersistentVolumeClaim.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Protocol, TypeVar

from kinformer.models import V1Condition

__all__ = (
    "Condition",
    "get_condition",
    "is_condition_true",
    "put_condition",
    "set_condition",
    "without_condition",
)

#: The format of a reason, as the API checks it.
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?").fullmatch


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
    :raises ValueError: if the API would not accept the reason
    """
    from kinformer.models import V1Condition

    if not _REASON(reason):
        raise ValueError(f"condition {type_} has the reason {reason!r}: want a word in CamelCase, as DeploymentReady")
    said = {None: "Unknown", True: "True", False: "False"}[status]
    current = get_condition(conditions, type_)
    since = current.last_transition_time if current is not None and current.status == said else None
    condition = V1Condition(
        type=type_,
        status=said,
        reason=reason,
        message=message,
        observed_generation=observed_generation,
        # The API keeps whole seconds. With a fraction, the written condition would differ from the one that is read.
        last_transition_time=since or now.replace(microsecond=0),
    )
    if current is None:
        return [*(conditions or ()), condition]
    return [condition if found is current else found for found in conditions or ()]


def put_condition(conditions: Sequence[C] | None, condition: C) -> list[C]:
    """
    Return the conditions, with this one at the end and in place of the one with the same type.

    If the existing condition has the same status and the same reason, it is kept, with its message and its times. This
    is the rule of Kubernetes' older kinds (``SetDeploymentCondition`` and its like).

    :param condition: has the current time as its lastTransitionTime. It is not changed
    """
    current = get_condition(conditions, condition.type)
    if current is not None and current.status == condition.status:
        if current.reason == condition.reason:
            return list(conditions or ())
        if current.last_transition_time is not None:
            condition = copy.copy(condition)
            condition.last_transition_time = current.last_transition_time  # type: ignore[misc]  # read-only in the protocol
    return [*without_condition(conditions, condition.type), condition]
