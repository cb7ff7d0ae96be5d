"""The status of a DeviceTaintRule: how many pods have to go because of it. Pure: counts in, a condition out.

The condition ``EvictionInProgress`` of a rule with the effect NoExecute says how many pods wait and how many were
evicted. That of a rule with the effect None says what the rule would do with the effect NoExecute, once.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from kinformer.controllerutil.conditions import get_condition
from kinformer.models import V1beta2DeviceTaintRule, V1beta2DeviceTaintRuleStatus, V1Condition
from kinformer_controllers.devicetainteviction.taints import NO_EXECUTE

__all__ = ("CONDITION", "PERIOD", "Counts", "new_condition", "seconds_to_wait")

CONDITION: Final = "EvictionInProgress"
#: The shortest time between two updates of a status, in seconds.
PERIOD: Final = 10.0


class Counts(NamedTuple):
    """
    What a rule does.

    :param pods: how many pods have to go, and are not being deleted
    :param namespaces: in how many namespaces they are
    :param evicted: how many pods were evicted since the controller started
    :param published: for the effect None: how many devices of slices are selected
    :param allocated: for the effect None: how many devices of claims are selected
    """

    pods: int = 0
    namespaces: int = 0
    evicted: int = 0
    published: int = 0
    allocated: int = 0


def _there(rule: V1beta2DeviceTaintRule) -> V1Condition | None:
    status: V1beta2DeviceTaintRuleStatus | None = rule.status
    return get_condition(status.conditions if status is not None else None, CONDITION)


def seconds_to_wait(rule: V1beta2DeviceTaintRule, now: datetime) -> float | None:
    """How long to wait until the status may be updated again; None if it may be now. A new spec does not wait."""
    there = _there(rule)
    if there is None or there.observed_generation != rule.metadata.generation:
        return None
    left = PERIOD - (now - there.last_transition_time).total_seconds()
    return left if left > 0 else None


def new_condition(rule: V1beta2DeviceTaintRule, counts: Counts, now: datetime) -> V1Condition | None:
    """Return the condition that a rule's status should have now; None if it has it already."""
    status, reason, message = _say(rule.spec.taint.effect, counts)
    if counts.evicted:
        message = f"{message} {_number(counts.evicted, 'pod')} evicted since starting the controller.".lstrip()
    wanted = V1Condition(
        type=CONDITION,
        status=status,
        reason=reason,
        message=message,
        observed_generation=rule.metadata.generation,
        last_transition_time=now,
    )
    there = _there(rule)
    if there is not None and _said(there) == _said(wanted):
        return None
    return wanted


def _say(effect: str, counts: Counts) -> tuple[str, str, str]:
    if effect == NO_EXECUTE:
        if counts.pods:
            needs = "1 pod needs" if counts.pods == 1 else f"{counts.pods} pods need"
            return "True", "PodsPendingEviction", f"{needs} to be evicted in {_where(counts)}."
        return "False", "Completed" if counts.evicted else "NotStarted", ""
    if effect == "None":
        would = (
            f"{_number(counts.published, 'published device')} selected. "
            f"{_number(counts.allocated, 'allocated device')} selected. "
            f"{_number(counts.pods, 'pod')} would be evicted in {_where(counts)} if the effect was NoExecute. "
            "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
        )
        return "False", "NoEffect", would
    return "False", "OtherEffect", "Eviction only happens for the NoExecute effect."


def _number(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def _where(counts: Counts) -> str:
    return "1 namespace" if counts.namespaces == 1 else f"{counts.namespaces} different namespaces"


def _said(condition: V1Condition) -> tuple[object, ...]:
    return condition.status, condition.reason, condition.message, condition.observed_generation
