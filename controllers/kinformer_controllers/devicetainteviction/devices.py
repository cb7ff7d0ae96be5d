"""Devices: what a cluster's slices, rules and claims say together, kept up to date with each change.

In: each change of a slice, a rule or a claim. Out: the claims whose eviction has changed, and the eviction of a pod.
All is in memory. The controller has one of these, fed by its informers. Before it evicts a pod, it makes another one
from what the server says, and asks it the same question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from kinformer.meta import meta_namespace_key
from kinformer.models import ResourceV1ResourceClaim, V1beta2DeviceTaintRule, V1ResourceSlice
from kinformer_controllers.devicetainteviction.taints import (
    NO_EXECUTE,
    Eviction,
    Pool,
    PoolKey,
    claim_eviction,
    devices_of,
    earliest,
    selects,
)
from kinformer_controllers.shared.devices import Claimant, ClaimNotMade, UnknownEntry, allocation_of

__all__ = ("Allocated", "Devices")

Claim = ResourceV1ResourceClaim
Rule = V1beta2DeviceTaintRule


class Allocated(NamedTuple):
    """
    A claim that has devices.

    :param eviction: when the pods that use it have to go; None if they may stay
    """

    claim: Claim
    eviction: Eviction | None


class Devices:
    """
    :param with_groups: whether claims of a pod's PodGroup count as the pod's
    """

    def __init__(self, *, with_groups: bool = False) -> None:
        self._with_groups = with_groups
        #: The claims that have devices, by key.
        self.claims: dict[str, Allocated] = {}
        #: The rules with the effect NoExecute, by name.
        self.rules: dict[str, Rule] = {}
        self._pools: dict[PoolKey, Pool] = {}
        #: The taints of the devices of each pool that has some.
        self._taints: dict[PoolKey, dict[str, Any]] = {}

    def set_claim(self, old: Claim | None, new: Claim | None) -> None:
        """
        Note a change of a claim. Its allocation does not change as long as it has one.

        :param old: the claim before; None if it is new. It may be another claim of the same name
        :param new: None if it was deleted
        """
        if new is None or allocation_of(new) is None:
            if (gone := new or old) is not None:
                self.claims.pop(meta_namespace_key(gone), None)
            return
        key = meta_namespace_key(new)
        known = self.claims.get(key)
        is_same = known is not None and old is not None and old.metadata.uid == new.metadata.uid
        eviction = known.eviction if known is not None and is_same else self._eviction(new)
        self.claims[key] = Allocated(new, eviction)

    def set_rule(self, old: Rule | None, new: Rule | None) -> list[Claim]:
        """Note a change of a rule, and return the claims whose eviction has changed."""
        if old is not None:
            self.rules.pop(old.metadata.name, None)
        if new is not None and new.spec.taint.effect == NO_EXECUTE:
            self.rules[new.metadata.name] = new
        return self._judge_again(lambda claim: True)

    def set_slice(self, old: V1ResourceSlice | None, new: V1ResourceSlice | None) -> list[Claim]:
        """Note a change of a slice, and return the claims whose eviction has changed."""
        pools = {_pool_of(it) for it in (old, new) if it is not None}
        changed = {key: self._change(key, old, new) for key in pools}
        if not any(changed.values()):
            return []
        return self._judge_again(
            lambda claim: any(it.device in changed.get(PoolKey(it.driver, it.pool), ()) for it in devices_of(claim))
        )

    def _change(self, key: PoolKey, old: V1ResourceSlice | None, new: V1ResourceSlice | None) -> set[str]:
        """Replace a slice in a pool. Return the devices whose taints have changed."""
        pool = self._pools.setdefault(key, Pool({}))
        if old is not None and _pool_of(old) == key:
            pool.slices.pop(old.metadata.name, None)
        if new is not None and _pool_of(new) == key:
            pool.slices[new.metadata.name] = new
        before, after = self._taints.pop(key, {}), pool.taints()
        if after:
            self._taints[key] = after
        if not pool.slices:
            del self._pools[key]
        return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}

    def _judge_again(self, concerned: Callable[[Claim], bool]) -> list[Claim]:
        changed = []
        for key, known in self.claims.items():
            if concerned(known.claim) and (eviction := self._eviction(known.claim)) != known.eviction:
                self.claims[key] = Allocated(known.claim, eviction)
                changed.append(known.claim)
        return changed

    def _eviction(self, claim: Claim) -> Eviction | None:
        return claim_eviction(claim, self._taints, self.rules.values())

    def eviction_of(self, pod: Claimant) -> Eviction | None:
        """Decide when a pod has to go; None if it may stay. A pod that is on no node may stay."""
        return earliest(it.eviction for it in self.claims_of(pod) if it.eviction is not None)

    def claims_of(self, pod: Claimant) -> Iterator[Allocated]:
        """The claims with devices that a pod on a node uses."""
        for entry in pod.entries if pod.node else ():
            try:
                name, is_generated = pod.claim_of(entry)
            except (ClaimNotMade, UnknownEntry):
                continue
            found = self.claims.get(f"{pod.namespace}/{name}")
            if found is None or (is_generated and not pod.owns(found.claim, through_group=self._with_groups)):
                continue
            if pod.holds(found.claim, through_group=self._with_groups):
                yield found

    # What rules do

    def with_rule_only(self, rule: Rule) -> Devices:
        """The same devices, as if this rule had the effect NoExecute and no other rule had it."""
        would = Devices(with_groups=self._with_groups)
        would._pools, would._taints, would.claims = self._pools, self._taints, dict(self.claims)
        would.set_rule(None, with_effect(rule, NO_EXECUTE))
        return would

    def count_selected(self, rule: Rule) -> tuple[int, int]:
        """Count the devices that a rule selects: those that are published, and those that claims have."""
        published = sum(
            selects(rule, *key, device.name)
            for key, pool in self._pools.items()
            for slice_ in pool.current()
            for device in slice_.spec.devices or ()
        )
        allocated = sum(
            selects(rule, device.driver, device.pool, device.device)
            for known in self.claims.values()
            for device in devices_of(known.claim)
        )
        return published, allocated


def with_effect(rule: Rule, effect: str) -> Rule:
    """A rule whose taint has another effect."""
    taint = msgspec.structs.replace(rule.spec.taint, effect=effect)
    return msgspec.structs.replace(rule, spec=msgspec.structs.replace(rule.spec, taint=taint))


def _pool_of(slice_: V1ResourceSlice) -> PoolKey:
    return PoolKey(slice_.spec.driver, slice_.spec.pool.name)
