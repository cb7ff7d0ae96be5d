"""Conditions: an object's list of what is true of it, one entry a type.

Lists of conditions go in, of any model or of one's own Structs, and new lists come out: those of a cached object stay
as they are. For a custom resource of one's own the entries are :class:`kinformer.models.V1Condition`, which is the
API's ``metav1.Condition``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from kinformer.models import V1Condition

__all__ = ("Condition", "get_condition", "is_condition_true", "set_condition", "without_condition")

#: What the API takes as a reason.
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?").fullmatch


class Condition(Protocol):
    """What all kinds of conditions have."""

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
    """The condition of that type, if there is one."""
    return next((condition for condition in conditions or () if condition.type == type_), None)


def is_condition_true(conditions: Sequence[Condition] | None, type_: str) -> bool:
    """Whether there is a condition of that type, and its status is ``True``."""
    found = get_condition(conditions, type_)
    return found is not None and found.status == "True"


def without_condition(conditions: Sequence[C] | None, type_: str) -> list[C]:
    """The conditions but for that of the type."""
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
    The conditions with this one at the place of what there was of its type, or at the end.

    The time of the last transition changes with the status only, and not with the reason, the message or the generation
    (apimachinery's ``meta.SetStatusCondition``). So a list that says the same as before is equal to it.

    :param status: None: not known
    :param reason: a word by which programs tell why: ``DeploymentReady``
    :param message: a sentence for people
    :param observed_generation: the ``metadata.generation`` of the object that this was found out for
    :param now: the time of a transition: ``context.clock.now()``
    :raises ValueError: if the API would refuse the reason
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
        # As the API keeps it, in whole seconds: what is read back is then equal to what was written.
        last_transition_time=since or now.replace(microsecond=0),
    )
    if current is None:
        return [*(conditions or ()), condition]
    return [condition if found is current else found for found in conditions or ()]
