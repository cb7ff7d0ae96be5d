"""Whether a node is alive. A node, its Lease, what was known of it and the time go in; what is known now comes out.

A node gives two signs of life: the heartbeat in its Ready condition, and its Lease. What counts is when this process
saw a sign change, by its own clock: those of the nodes may be wrong. A node that gives none for longer than its grace
period gets conditions that say Unknown. One that has never reported has longer for it, from its creation.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple, cast

from kinformer.models import V1Lease, V1Node, V1NodeCondition
from kinformer.operator.conditions import get_condition

__all__ = ("GracePeriods", "Moment", "NodeHealth", "Observation", "observe", "ready_condition")

#: What nobody knows of a node that is silent. NetworkUnavailable is not the kubelet's to report.
_REPORTED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class Moment(NamedTuple):
    """
    Now.

    :param wall: the time of day, for what is written
    :param monotonic: seconds of a clock that never goes back, for what is measured
    """

    wall: datetime
    monotonic: float


class GracePeriods(NamedTuple):
    """
    How long a node may be silent, in seconds.

    :param running: one that has reported
    :param starting: one that has not
    """

    running: float
    starting: float


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """
    What is known of a node.

    :param ready: its Ready condition when its last heartbeat was seen; None if it has none
    :param probed: when a sign of life was last seen to change
    :param lease: its Lease, as it was then
    """

    ready: V1NodeCondition | None
    probed: float
    lease: V1Lease | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """
    What was found out about a node.

    :param health: what is known of it now; once `conditions` are written, :meth:`written`
    :param observed: the status of its Ready condition as it was found; Unknown if it has none
    :param ready: its Ready condition as it is to be; None if it has none yet
    :param conditions: what to write of its conditions; empty if nothing
    """

    health: NodeHealth
    observed: str
    ready: V1NodeCondition | None
    conditions: tuple[V1NodeCondition, ...] = ()

    def written(self, lease: V1Lease | None) -> NodeHealth:
        """What is known of it once the conditions are written."""
        return replace(self.health, ready=self.ready, lease=lease)


def ready_condition(node: V1Node) -> V1NodeCondition | None:
    """The node's Ready condition, whatever it says."""
    status = node.status
    return get_condition(status.conditions if status is not None else None, "Ready")


def observe(
    known: NodeHealth | None, node: V1Node, lease: V1Lease | None, now: Moment, grace: GracePeriods
) -> Observation:
    """
    Look at a node.

    :param known: what was known of it; None if it was not seen before
    :param lease: its Lease, if it has one
    """
    current = ready_condition(node)
    health = _seen(known, node, current, now)
    # A Lease that is renewed counts whatever the status says. One that is seen for the first time, or for the first
    # time since a heartbeat, counts as renewed, as in Kubernetes.
    if lease is not None and (known is None or known.lease is None or _is_older(known.lease, lease)):
        health = replace(health, probed=now.monotonic, lease=lease)
    observed = current.status if current is not None else "Unknown"
    if now.monotonic <= health.probed + (grace.starting if current is None else grace.running):
        return Observation(health, observed, current)
    if observed == "Unknown" and current is not None:
        return Observation(health, observed, current)  # it says so already
    conditions = {type_: _unknown(node, type_, now.wall) for type_ in _REPORTED}
    return Observation(health, observed, conditions["Ready"], tuple(conditions.values()))


def _seen(known: NodeHealth | None, node: V1Node, current: V1NodeCondition | None, now: Moment) -> NodeHealth:
    """What is known of a node by its status alone."""
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
    """The condition of a node that is silent; the one that it has, if that says so already."""
    now = now.replace(microsecond=0)
    there = get_condition(node.status.conditions if node.status is not None else None, type_)
    if there is None:
        return V1NodeCondition(
            type=type_,
            status="Unknown",
            reason="NodeStatusNeverUpdated",
            message="Kubelet never posted node status.",
            last_heartbeat_time=node.metadata.creation_timestamp,
            last_transition_time=now,
        )
    if there.status == "Unknown":
        return there
    condition = copy.copy(there)
    condition.status = "Unknown"
    condition.reason = "NodeStatusUnknown"
    condition.message = "Kubelet stopped posting node status."
    condition.last_transition_time = now
    return condition
