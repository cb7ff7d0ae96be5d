"""Deciding whether a node is alive. Pure functions: in are a node, its Lease, the earlier health and the time.

A node gives two signs of life: the heartbeat in its Ready condition, and its Lease. What counts is the time at which
this process saw one of them change, by its own clock, because the clocks of nodes may be wrong. If a node gives no sign
for longer than its grace period, its conditions become Unknown. A node that has never reported has another grace
period, which starts at its creation.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple, cast

from kinformer.controllerutil.conditions import get_condition
from kinformer.models import V1Lease, V1Node, V1NodeCondition

__all__ = ("GracePeriods", "Moment", "NodeHealth", "Observation", "observe", "ready_condition", "was_given_up")

#: The conditions that become Unknown. NetworkUnavailable is not among them, because the kubelet does not report it.
_REPORTED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
#: The reasons of conditions that this controller writes. No kubelet writes them.
_NEVER_UPDATED: Final = "NodeStatusNeverUpdated"
_UNKNOWN: Final = "NodeStatusUnknown"


class Moment(NamedTuple):
    """
    The current time.

    :param wall: the time of day, which is written into conditions
    :param monotonic: the monotonic time in seconds, with which durations are measured
    """

    wall: datetime
    monotonic: float


class GracePeriods(NamedTuple):
    """
    How long a node may give no sign of life, in seconds.

    :param running: for a node that has reported
    :param starting: for a node that has never reported
    """

    running: float
    starting: float


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """
    The health of a node.

    :param ready: its Ready condition at the last heartbeat; None if it has none
    :param probed: the monotonic time at which the last sign of life was seen
    :param lease: its Lease at that time
    """

    ready: V1NodeCondition | None
    probed: float
    lease: V1Lease | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """
    The result of checking a node.

    :param health: its health before `conditions` are written; see :meth:`written` for the health afterwards
    :param observed: the status of its existing Ready condition; Unknown if it has none
    :param ready: its new Ready condition; None if it has none
    :param conditions: the conditions to write; empty if nothing has to be written
    """

    health: NodeHealth
    observed: str
    ready: V1NodeCondition | None
    conditions: tuple[V1NodeCondition, ...] = ()

    def written(self, lease: V1Lease | None) -> NodeHealth:
        """Return its health after the conditions were written."""
        return replace(self.health, ready=self.ready, lease=lease)


def ready_condition(node: V1Node) -> V1NodeCondition | None:
    """Return the node's Ready condition, true or not; None if it has none."""
    status = node.status
    return get_condition(status.conditions if status is not None else None, "Ready")


def was_given_up(node: V1Node) -> bool:
    """Whether a node is Unknown because a node lifecycle controller has said so."""
    ready = ready_condition(node)
    return ready is not None and ready.status == "Unknown" and ready.reason in (_NEVER_UPDATED, _UNKNOWN)


def observe(
    known: NodeHealth | None, node: V1Node, lease: V1Lease | None, now: Moment, grace: GracePeriods
) -> Observation:
    """
    Check a node.

    :param known: its health in the last check; None in the first check
    :param lease: its Lease, if it has one
    """
    current = ready_condition(node)
    health = _seen(known, node, current, now)
    # A renewed Lease counts even if the status is unchanged. A Lease that is seen for the first time, or for the first
    # time since a heartbeat, counts as renewed, as in Kubernetes.
    if lease is not None and (known is None or known.lease is None or _is_older(known.lease, lease)):
        health = replace(health, probed=now.monotonic, lease=lease)
    observed = current.status if current is not None else "Unknown"
    if now.monotonic <= health.probed + (grace.starting if current is None else grace.running):
        return Observation(health, observed, current)
    if observed == "Unknown" and current is not None:
        return Observation(health, observed, current)  # its conditions are already Unknown
    conditions = {type_: _unknown(node, type_, now.wall) for type_ in _REPORTED}
    return Observation(health, observed, conditions["Ready"], tuple(conditions.values()))


def _seen(known: NodeHealth | None, node: V1Node, current: V1NodeCondition | None, now: Moment) -> NodeHealth:
    """Return a node's health by its status alone, without its Lease."""
    if current is None:
        if known is not None:
            return replace(known, ready=None)
        created = node.metadata.creation_timestamp
        age = (now.wall - created).total_seconds() if created is not None else 0.0
        return NodeHealth(None, now.monotonic - age)
    before = known.ready if known is not None else None
    if before is not None and before.last_heartbeat_time == current.last_heartbeat_time:
        return cast(NodeHealth, known)
    return NodeHealth(current, now.monotonic)


def _is_older(one: V1Lease, other: V1Lease) -> bool:
    before = one.spec.renew_time if one.spec is not None else None
    after = other.spec.renew_time if other.spec is not None else None
    return before is not None and after is not None and before < after


def _unknown(node: V1Node, type_: str, now: datetime) -> V1NodeCondition:
    """Return the Unknown condition of a node that no longer reports; the existing one, if it is already Unknown."""
    now = now.replace(microsecond=0)
    there = get_condition(node.status.conditions if node.status is not None else None, type_)
    if there is None:
        return V1NodeCondition(
            type=type_,
            status="Unknown",
            reason=_NEVER_UPDATED,
            message="Kubelet never posted node status.",
            last_heartbeat_time=node.metadata.creation_timestamp,
            last_transition_time=now,
        )
    if there.status == "Unknown":
        return there
    condition = copy.copy(there)
    condition.status = "Unknown"
    condition.reason = _UNKNOWN
    condition.message = "Kubelet stopped posting node status."
    condition.last_transition_time = now
    return condition
