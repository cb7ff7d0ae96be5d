"""The decision for one volume: from which nodes it is detached, and to which it is attached.

In: what should be attached, what is, which operations run or wait, the nodes, and a time. Out: a :class:`Plan`. Nothing
is changed here. Detaching comes first: a volume that only one node may have is free for the next one afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kinformer.controllerutil.conditions import is_condition_true
from kinformer.models import V1Node
from kinformer_controllers.attachdetach.actual import ActualState
from kinformer_controllers.attachdetach.desired import DesiredState, Wanted
from kinformer_controllers.attachdetach.pending import ATTACH, DETACH, Key, PendingOperations
from kinformer_controllers.attachdetach.volumes import PLUGINS, split_name
from kinformer_controllers.shared.taints import OUT_OF_SERVICE
from kinformer_controllers.shared.volumes.specs import VolumeSpec

__all__ = (
    "BY_OUT_OF_SERVICE",
    "BY_TIMEOUT",
    "Attach",
    "Detach",
    "Plan",
    "Refuse",
    "is_out_of_service",
    "is_ready",
    "key_of",
    "plan_volume",
)

#: For how many seconds a volume that a node still uses is left attached, if the node is not ready.
_MAX_WAIT_FOR_UNMOUNT: Final = 360.0
#: Why a volume is detached although the node may still use it, as the metric names it.
BY_TIMEOUT: Final = "timeout"
BY_OUT_OF_SERVICE: Final = "out-of-service"


@dataclass(frozen=True, slots=True)
class Detach:
    """
    Detach the volume from a node.

    :param forced: why it is detached even if the node uses it; empty: it is not, if the node does
    """

    node: str
    key: Key
    forced: str = ""


@dataclass(frozen=True, slots=True)
class Attach:
    """Attach the volume to a node."""

    node: str
    key: Key


@dataclass(frozen=True, slots=True)
class Refuse:
    """Tell the pods of a node that the volume is attached to other nodes and cannot be attached to theirs."""

    node: str
    attached_to: tuple[str, ...]


@dataclass(slots=True)
class Plan:
    """
    What is to be done for one volume.

    :param unneeded: the nodes that are seen for the first time not to need it
    :param kept: the nodes that need it again before it was detached
    :param wait: seconds after which the volume has to be looked at again; None: only after a change
    """

    detaches: list[Detach] = field(default_factory=list)
    attaches: list[Attach] = field(default_factory=list)
    refusals: list[Refuse] = field(default_factory=list)
    unneeded: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    wait: float | None = None

    def look_again(self, seconds: float) -> None:
        self.wait = seconds if self.wait is None else min(self.wait, seconds)

    def excludes(self, key: Key) -> bool:
        keys = [it.key for it in self.detaches] + [it.key for it in self.attaches]
        return any(key.excludes(it) for it in keys)


def is_ready(node: V1Node | None) -> bool:
    return node is not None and node.status is not None and is_condition_true(node.status.conditions, "Ready")


def is_out_of_service(node: V1Node | None) -> bool:
    """Whether a node has the taint by which an administrator says that it is shut down. Its effect does not matter."""
    taints = node.spec.taints if node is not None and node.spec is not None else None
    return any(taint.key == OUT_OF_SERVICE for taint in taints or ())


def key_of(volume: str, node: str, spec: VolumeSpec | None) -> Key:
    """Return the key of an operation. Without a spec it is not known whether the volume is exclusive."""
    return Key(volume) if spec is not None and spec.exclusive else Key(volume, node)


def plan_volume(
    volume: str,
    desired: DesiredState,
    actual: ActualState,
    pending: PendingOperations,
    node_of: Callable[[str], V1Node | None],
    now: float,
    *,
    force_on_timeout: bool = True,
) -> Plan:
    """
    Decide what is to be done for a volume.

    :param node_of: returns a node from the cache
    :param now: of the clock of :attr:`.Attachment.detach_requested`, in seconds
    :param force_on_timeout: whether a volume is detached from a node that has not been ready for six minutes
    """
    planner = _Planner(volume, actual, pending, node_of, now, force_on_timeout)
    found, wanted = actual.get(volume), desired.on(volume)
    # The volume of a plug-in that is not here stays as it is: nobody could detach it.
    if found is not None and split_name(volume)[0] in PLUGINS:
        for node in found.nodes:
            if node not in wanted:
                planner.detach(node, key_of(volume, node, found.spec))
    for node, need in wanted.items():
        planner.attach(node, need)
    return planner.plan


@dataclass(slots=True)
class _Planner:
    volume: str
    actual: ActualState
    pending: PendingOperations
    node_of: Callable[[str], V1Node | None]
    now: float
    force_on_timeout: bool
    plan: Plan = field(default_factory=Plan)

    def detach(self, name: str, key: Key) -> None:
        plan, node = self.plan, self.node_of(name)
        if plan.excludes(key) or self.pending.is_running(key):
            return
        if delay := self.pending.delay(key, DETACH, self.now):
            plan.look_again(delay)
            return
        there = self.actual.attachment(self.volume, name)
        assert there is not None
        requested = there.detach_requested
        if requested is None:
            plan.unneeded.append(name)
            requested = self.now
        left = _MAX_WAIT_FOR_UNMOUNT - (self.now - requested)
        timed_out, out_of_service = left < 0 and self.force_on_timeout, is_out_of_service(node)
        unsafe = self.actual.is_in_use(self.volume, name) and not out_of_service
        if unsafe and (is_ready(node) or not timed_out):
            if left >= 0 and self.force_on_timeout:
                plan.look_again(left + 0.1)
            return
        plan.detaches.append(
            Detach(name, key, BY_TIMEOUT if timed_out else BY_OUT_OF_SERVICE if out_of_service else "")
        )

    def attach(self, name: str, need: Wanted) -> None:
        plan, key = self.plan, key_of(self.volume, name, need.spec)
        if plan.excludes(key) or self.pending.is_running(key):
            return
        there = self.actual.attachment(self.volume, name)
        if there is not None and there.confirmed:
            if there.detach_requested is not None:
                plan.kept.append(name)
            return
        found = self.actual.get(self.volume)
        if need.spec.exclusive and found is not None:
            others = tuple(node for node, attachment in found.nodes.items() if attachment.confirmed)
            if others:
                if not need.reported:
                    plan.refusals.append(Refuse(name, others))
                return
        if delay := self.pending.delay(key, ATTACH, self.now):
            plan.look_again(delay)
        else:
            plan.attaches.append(Attach(name, key))
