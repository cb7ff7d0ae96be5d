"""Taints of devices, and when they drive pods off. Pure functions: claims, slices and rules in, times out.

A device has taints of its own, in the ResourceSlice that its driver publishes, and those of the DeviceTaintRules that
select it. A claim that has the device tolerates some of them: the tolerations are in its allocation. Pods that use the
claim have to go when the first taint that it does not tolerate was added. If it tolerates the taint for some seconds,
they have to go that much later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kinformer.models import (
    ResourceV1ResourceClaim,
    V1beta2DeviceTaintRule,
    V1DeviceRequestAllocationResult,
    V1DeviceTaint,
    V1DeviceToleration,
    V1ResourceSlice,
)
from kinformer_controllers.shared.devices import allocation_of

__all__ = ("NO_EXECUTE", "Eviction", "Pool", "PoolKey", "Reason", "claim_eviction", "devices_of", "earliest", "selects")

NO_EXECUTE: Final = "NoExecute"
#: The longest time that counts, in seconds: about 300 years. In Go, a longer one would be negative.
_LONGEST: Final = 10**10


class PoolKey(NamedTuple):
    """The name of a pool of devices."""

    driver: str
    pool: str


class Reason(NamedTuple):
    """
    One taint that drives pods off. Reasons are sorted: rules come first.

    :param is_device: whether the taint is the device's own, and not that of a rule
    :param number: which of the device's taints it is, from 0
    :param source: the name of the rule, or of the slice
    :param uid: the uid of the rule; empty for a slice
    """

    is_device: bool
    driver: str
    pool: str
    device: str
    number: int
    source: str
    uid: str = ""

    @classmethod
    def of_rule(cls, rule: V1beta2DeviceTaintRule) -> Reason:
        return cls(False, "", "", "", 0, rule.metadata.name, rule.metadata.uid or "")


class Eviction(NamedTuple):
    """
    That pods have to go.

    :param due: when
    :param reasons: because of which taints, sorted
    """

    due: datetime
    reasons: tuple[Reason, ...]


def earliest(evictions: Iterable[Eviction]) -> Eviction | None:
    """The first of several evictions, with the reasons of all; None if there are none."""
    found = list(evictions)
    if not found:
        return None
    return Eviction(min(it.due for it in found), tuple(sorted({reason for it in found for reason in it.reasons})))


class _Tainted(NamedTuple):
    """One NoExecute taint of a device, and the slice where it is."""

    slice_name: str
    number: int
    taint: V1DeviceTaint


@dataclass(slots=True)
class Pool:
    """
    The slices of one pool. Those with the highest generation count.

    :param slices: by name
    """

    slices: dict[str, V1ResourceSlice]

    def current(self) -> Iterator[V1ResourceSlice]:
        """The slices that count."""
        newest = max((it.spec.pool.generation for it in self.slices.values()), default=0)
        return (it for it in self.slices.values() if it.spec.pool.generation == newest)

    def taints(self) -> dict[str, tuple[_Tainted, ...]]:
        """The NoExecute taints of each device that has some. A device counts in the first slice that has it."""
        found: dict[str, tuple[_Tainted, ...]] = {}
        for slice_ in self.current():
            for device in slice_.spec.devices or ():
                taints = tuple(
                    _Tainted(slice_.metadata.name, number, taint)
                    for number, taint in enumerate(device.taints or ())
                    if taint.effect == NO_EXECUTE
                )
                if taints:
                    found.setdefault(device.name, taints)
        return found


def selects(rule: V1beta2DeviceTaintRule, driver: str, pool: str, device: str) -> bool:
    """Whether a rule taints a device. A rule without a selector taints none, and an empty selector selects all."""
    selector = rule.spec.device_selector
    if selector is None:
        return False
    wanted = ((selector.driver, driver), (selector.pool, pool), (selector.device, device))
    return all(want is None or want == name for want, name in wanted)


def devices_of(claim: ResourceV1ResourceClaim) -> tuple[V1DeviceRequestAllocationResult, ...]:
    """Return the devices that a claim has."""
    allocation = allocation_of(claim)
    if allocation is None or allocation.devices is None:
        return ()
    return tuple(allocation.devices.results or ())


def claim_eviction(
    claim: ResourceV1ResourceClaim,
    taints_of: dict[PoolKey, dict[str, tuple[_Tainted, ...]]],
    rules: Iterable[V1beta2DeviceTaintRule],
) -> Eviction | None:
    """
    Decide when the pods that use a claim have to go.

    :param taints_of: the taints of each pool's devices
    :param rules: those with the effect NoExecute
    :return: None if it tolerates all taints of its devices
    """
    found = []
    for device in devices_of(claim):
        for reason, taint in _taints(device, taints_of, rules):
            seconds = _tolerated_for(taint, device.tolerations)
            # The server dates every taint. One without a date cannot be counted from.
            if seconds is not None and taint.time_added is not None:
                found.append(Eviction(taint.time_added + timedelta(seconds=seconds), (reason,)))
    return earliest(found)


def _taints(
    device: V1DeviceRequestAllocationResult,
    taints_of: dict[PoolKey, dict[str, tuple[_Tainted, ...]]],
    rules: Iterable[V1beta2DeviceTaintRule],
) -> Iterator[tuple[Reason, V1DeviceTaint]]:
    key = PoolKey(device.driver, device.pool)
    for slice_name, number, taint in taints_of.get(key, {}).get(device.device, ()):
        yield Reason(True, *key, device.device, number, slice_name), taint
    for rule in rules:
        if selects(rule, *key, device.device):
            given = rule.spec.taint
            taint = V1DeviceTaint(key=given.key, value=given.value, effect=given.effect, time_added=given.time_added)
            yield Reason.of_rule(rule), taint


def _tolerated_for(taint: V1DeviceTaint, tolerations: Iterable[V1DeviceToleration] | None) -> int | None:
    """For how many seconds a taint is tolerated: 0 if it is not, None for ever."""
    limits = []
    for toleration in tolerations or ():
        # Unlike tolerations of nodes' taints, one without an effect does not count here.
        if toleration.effect != NO_EXECUTE or not _matches(toleration, taint):
            continue
        if toleration.toleration_seconds is None:
            return None
        limits.append(min(max(toleration.toleration_seconds, 0), _LONGEST))
    return min(limits, default=0)


def _matches(toleration: V1DeviceToleration, taint: V1DeviceTaint) -> bool:
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in (None, "", "Equal"):
        return (toleration.value or "") == (taint.value or "")
    return toleration.operator == "Exists"
