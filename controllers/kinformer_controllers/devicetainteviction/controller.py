"""The device taint eviction controller, as kube-controller-manager has it.

In: pods, ResourceClaims and ResourceSlices; with the feature gate DRADeviceTaintRules also DeviceTaintRules. Out: pods
are deleted, after they got the DisruptionTarget condition, if their devices have a NoExecute taint that the claim does
not tolerate; and the statuses of rules. Promised: before a pod is deleted, the server is asked for the pod, its claims
and what taints them. So a taint or a reservation that is gone, but still in the cache, costs no pod.

Event handlers keep :class:`.Devices` and the list of pods that have to go. One queue has two sorts of keys: ``pod:``
and ``rule:``, each followed by the key and the uid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from prometheus_client import Counter, Histogram

from kinformer.client import DeleteOptions, Preconditions, Resource
from kinformer.client.errors import NotFound
from kinformer.controllerutil.handlers import ChangeHandler
from kinformer.controllerutil.pods import DISRUPTION_TARGET, pod_condition_patch
from kinformer.lru import LRU
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import meta_namespace_key, split_key
from kinformer.models import (
    ResourceV1ResourceClaim,
    V1beta2DeviceTaintRule,
    V1ObjectReference,
    V1Pod,
    V1PodCondition,
    V1ResourceSlice,
    to_dict,
)
from kinformer.record import NORMAL
from kinformer_controllers.devicetainteviction.devices import Devices
from kinformer_controllers.devicetainteviction.spec import DeviceTaintEvictionOptions
from kinformer_controllers.devicetainteviction.status import PERIOD, Counts, new_condition, seconds_to_wait
from kinformer_controllers.devicetainteviction.taints import NO_EXECUTE, Eviction, Reason
from kinformer_controllers.shared.devices import (
    GROUP_INDEX,
    Claimant,
    add_group_index,
    claimant_of_pod,
    consumer_kind,
    reservations_of,
)
from kinformer_controllers.shared.gates import Gates

__all__ = ("DeviceTaintEviction",)

_POD_DELETIONS = Counter(
    "device_taint_eviction_controller_pod_deletions_total",
    "Total number of Pods deleted by DeviceTaintEvictionController since its start.",
)
_POD_DELETION_SECONDS = Histogram(
    "device_taint_eviction_controller_pod_deletion_duration_seconds",
    "Latency, in seconds, between the time when a device taint effect has been activated and a Pod's deletion via "
    "DeviceTaintEvictionController.",
    buckets=(0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240),
)

#: The name in Events, of the queue, and of the field manager.
_COMPONENT: Final = "device-taint-eviction-controller"
#: How many uids of evicted pods are remembered, as in Kubernetes.
_REMEMBERED: Final = 500

Claim = ResourceV1ResourceClaim
Rule = V1beta2DeviceTaintRule


class _Ref(NamedTuple):
    """A pod or rule of that name, and which of those that had the name."""

    key: str
    uid: str

    @classmethod
    def to(cls, obj: Any) -> _Ref:
        return cls(meta_namespace_key(obj), obj.metadata.uid or "")

    def queued(self, sort: str) -> str:
        return f"{sort}:{self.key}:{self.uid}"


# More than 15 fields: four kinds are followed, each with a cache, and two are written.
class DeviceTaintEviction:
    """
    Evicts pods, and writes the statuses of rules.

    :raises ControllerDisabled: if the feature gate DRADeviceTaints is off
    """

    def __init__(self, context: ControllerContext) -> None:
        client, informers, options = context.client, context.informers, context.read(DeviceTaintEvictionOptions)
        gates = Gates(options.feature_gates)
        gates.require("DRADeviceTaints")
        self._clock = context.clock
        self._with_groups = gates.is_on("DRAWorkloadResourceClaims")
        self._pod_server, self._claim_server = client.resource(V1Pod), client.resource(Claim)
        self._slice_server, self._rule_server = client.resource(V1ResourceSlice), client.resource(Rule)
        self._recorder = context.recorder(_COMPONENT)
        self.devices = Devices(with_groups=self._with_groups)
        #: The pods that have to go.
        self.waiting: dict[_Ref, Eviction] = {}
        self._evicted: LRU[str, bool] = LRU(_REMEMBERED)
        #: How many pods each rule has driven off, by its uid.
        self._driven_off: dict[str, int] = {}
        pods, claims = informers.informer_for(V1Pod), informers.informer_for(Claim)
        slices = informers.informer_for(V1ResourceSlice)
        self._slices = slices.indexer
        if self._with_groups:
            add_group_index(pods)
        self._pods = pods.indexer
        self.controller = Controller(
            _COMPONENT, self.sync, workers=options.concurrent_device_taint_eviction_syncs, clock=self._clock
        )
        self._queue = self.controller.queue
        self.controller.handle(claims, ChangeHandler(self._claim_changed))
        self.controller.handle(pods, ChangeHandler(self._pod_changed))
        self._rules = None
        if gates.is_on("DRADeviceTaintRules"):
            rules = informers.informer_for(Rule)
            self._rules = rules.indexer
            self.controller.handle(rules, ChangeHandler(self._rule_changed))
        self.controller.handle(slices, ChangeHandler(self._slice_changed))

    # Events of informers

    def _claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        self.devices.set_claim(old, new)
        there = {it.uid: it for claim in (old, new) if claim is not None for it in reservations_of(claim)}
        if there:
            self._look_at_users((new or old).metadata.namespace or "", there.values())  # type: ignore[union-attr]

    def _pod_changed(self, old: V1Pod | None, new: V1Pod | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self.waiting.pop(_Ref.to(old), None)
            old = None
        if new is None:
            return
        pod = claimant_of_pod(new)
        if old is not None:
            # Other changes do not matter, the condition that is written before a deletion among them.
            before = claimant_of_pod(old)
            if (before.node, before.statuses) == (pod.node, pod.statuses):
                return
        self._look_at(pod)

    def _rule_changed(self, old: Rule | None, new: Rule | None) -> None:
        is_same = old is not None and new is not None and old.metadata.uid == new.metadata.uid
        if is_same and old.spec == new.spec:  # type: ignore[union-attr]
            return
        if new is not None:
            # The status is written once before pods are evicted.
            self._queue.add(_Ref.to(new).queued("rule"))
        if old is not None and not is_same:
            self._driven_off.pop(old.metadata.uid or "", None)
        for claim in self.devices.set_rule(old, new):
            self._look_at_users(claim.metadata.namespace or "", reservations_of(claim))

    def _slice_changed(self, old: V1ResourceSlice | None, new: V1ResourceSlice | None) -> None:
        for claim in self.devices.set_slice(old, new):
            self._look_at_users(claim.metadata.namespace or "", reservations_of(claim))

    def _look_at_users(self, namespace: str, references: Any) -> None:
        for pod in self._users(namespace, references):
            self._look_at(claimant_of_pod(pod))

    def _users(self, namespace: str, references: Any) -> Iterator[V1Pod]:
        """The pods in the cache that reservations name."""
        for reference in references:
            kind = consumer_kind(reference, with_groups=self._with_groups)
            key = f"{namespace}/{reference.name}"
            if kind == "PodGroup":
                yield from self._pods.by_index(GROUP_INDEX, key)
            elif kind and (pod := self._pods.get_by_key(key)) is not None and pod.metadata.uid == reference.uid:
                yield pod

    def _look_at(self, pod: Claimant) -> None:
        """Decide about a pod, and queue it for its time."""
        ref = _Ref(pod.key, pod.uid)
        eviction = self.devices.eviction_of(pod)
        if eviction is None:
            self._cancel(ref)
            return
        self.waiting[ref] = eviction
        self._queue.add_after(ref.queued("pod"), self._seconds_until(eviction))
        self._queue_rules(eviction.reasons)

    def _cancel(self, ref: _Ref) -> None:
        if self.waiting.pop(ref, None) is not None:
            self._tell(ref, "Cancelling deletion")

    def _queue_rules(self, reasons: tuple[Reason, ...]) -> None:
        """Have the statuses of rules updated, but not at once: more pods may follow, and the cache is behind."""
        for reason in reasons:
            if not reason.is_device:
                self._queue.add_after(_Ref(reason.source, reason.uid).queued("rule"), PERIOD)

    def _seconds_until(self, eviction: Eviction) -> float:
        return max((eviction.due - self._clock.now()).total_seconds(), 0.0)

    def _tell(self, ref: _Ref, message: str) -> None:
        namespace, name = split_key(ref.key)
        pod = V1ObjectReference(api_version="v1", kind="Pod", name=name, namespace=namespace, uid=ref.uid)
        self._recorder.event(pod, NORMAL, "DeviceTaintManagerEviction", message)

    # Syncs

    async def sync(self, key: str) -> float | None:
        """
        Evict a pod if its time has come, or update the status of a rule.

        :return: seconds until it has to be looked at again; None if it is done
        :raises ClientError: if the server refuses a request
        """
        sort, _, rest = key.partition(":")
        name, _, uid = rest.rpartition(":")
        return await (self._sync_pod if sort == "pod" else self._sync_rule)(_Ref(name, uid))

    async def _sync_pod(self, ref: _Ref) -> float | None:
        eviction = self.waiting.get(ref)
        if eviction is None or self._evicted.get(ref.uid):
            return None
        if (left := self._seconds_until(eviction)) > 0:
            return left
        namespace, name = split_key(ref.key)
        try:
            pod = await self._pod_server.get(name, namespace)
            if pod.metadata.uid != ref.uid:
                self._forget(ref)
                return None
            if pod.metadata.deletion_timestamp is None:
                now = await self._eviction_live(claimant_of_pod(pod), eviction.reasons)
                if now is None:
                    self._cancel(ref)
                    return None
                if (left := self._seconds_until(now)) > 0:
                    self.waiting[ref] = now
                    return left
                await self._delete(ref, pod)
        except NotFound:
            self._forget(ref)
            return None
        _POD_DELETIONS.inc()
        _POD_DELETION_SECONDS.observe((self._clock.now() - eviction.due).total_seconds())
        for reason in eviction.reasons:
            if not reason.is_device:
                self._driven_off[reason.uid] = self._driven_off.get(reason.uid, 0) + 1
        self._queue_rules(eviction.reasons)
        self._forget(ref)
        return None

    def _forget(self, ref: _Ref) -> None:
        """Note that nothing is left to do for a pod, whatever the cache still shows."""
        self.waiting.pop(ref, None)
        self._evicted.put(ref.uid, True)

    async def _eviction_live(self, pod: Claimant, reasons: tuple[Reason, ...]) -> Eviction | None:
        """
        Decide about a pod by what the server says of its claims, and of what taints their devices.

        :param reasons: the taints that the cache shows
        """
        live = Devices(with_groups=self._with_groups)
        pools = {(it.driver, it.pool): it for it in reasons if it.is_device}
        for reason in pools.values():
            for slice_ in await self._slices_of_pool(reason):
                live.set_slice(None, slice_)
        for name in {it.source for it in reasons if not it.is_device}:
            live.set_rule(None, await _get(self._rule_server, name))
        for name in pod.claim_names():
            live.set_claim(None, await _get(self._claim_server, name, pod.namespace))
        return live.eviction_of(pod)

    async def _slices_of_pool(self, reason: Reason) -> list[V1ResourceSlice]:
        """
        Ask the server for all slices of a tainted device's pool.

        The slice with the taint alone would not do: newer slices of the pool may have taken its place.
        """
        where = f"spec.driver={reason.driver}"
        cached = self._slices.get_by_key(reason.source)
        if cached is not None and cached.spec.node_name:
            # The devices of a pool are on one node, or can all be reached from several.
            where += f",spec.nodeName={cached.spec.node_name}"
        listed = await self._slice_server.list(field_selector=where)
        return [slice_ for slice_ in listed.items if slice_.spec.pool.name == reason.pool]

    async def _delete(self, ref: _Ref, pod: V1Pod) -> None:
        self._tell(ref, "Marking for deletion")
        meta = pod.metadata
        condition = V1PodCondition(
            type=DISRUPTION_TARGET,
            status="True",
            reason="DeletionByDeviceTaintManager",
            message="Device Taint manager: deleting due to NoExecute taint",
        )
        patch = pod_condition_patch(pod, condition, self._clock.now())
        if patch is not None:
            await self._pod_server.patch(meta.name, patch, meta.namespace, subresource="status")
        await self._pod_server.delete(
            meta.name, meta.namespace, DeleteOptions(preconditions=Preconditions(uid=ref.uid))
        )

    async def _sync_rule(self, ref: _Ref) -> float | None:
        rule = self._rules.get_by_key(ref.key) if self._rules is not None else None
        if rule is None or rule.metadata.uid != ref.uid:
            return None
        now = self._clock.now()
        # This comes first: to count pods may take long.
        if (wait := seconds_to_wait(rule, now)) is not None:
            return wait
        condition = new_condition(rule, self._count(rule), now)
        if condition is not None:
            body = {
                "apiVersion": "resource.k8s.io/v1beta2",
                "kind": "DeviceTaintRule",
                "metadata": {"name": rule.metadata.name, "uid": ref.uid},
                "status": {"conditions": [to_dict(condition)]},
            }
            await self._rule_server.apply(body, field_manager=_COMPONENT, force=True, subresource="status")
        return None

    def _count(self, rule: Rule) -> Counts:
        effect, uid = rule.spec.taint.effect, rule.metadata.uid or ""
        evicted = self._driven_off.get(uid, 0)
        if effect == NO_EXECUTE:
            return Counts(*self._count_pods(self.devices, uid), evicted)
        if effect == "None":
            would = self.devices.with_rule_only(rule)
            return Counts(*self._count_pods(would, uid), evicted, *self.devices.count_selected(rule))
        return Counts(evicted=evicted)

    def _count_pods(self, devices: Devices, uid: str) -> tuple[int, int]:
        """Count the pods that a rule drives off, and their namespaces. Pods that are being deleted do not count."""
        found: set[tuple[str, str]] = set()
        for claim, eviction in devices.claims.values():
            if eviction is None or all(it.uid != uid for it in eviction.reasons):
                continue
            namespace = claim.metadata.namespace or ""
            for pod in self._users(namespace, reservations_of(claim)):
                if pod.metadata.deletion_timestamp is None:
                    goes = devices.eviction_of(claimant_of_pod(pod))
                    if goes is not None and any(it.uid == uid for it in goes.reasons):
                        found.add((namespace, pod.metadata.name))
        return len(found), len({namespace for namespace, _ in found})


async def _get(server: Resource[Any], name: str, namespace: str = "") -> Any:
    try:
        return await server.get(name, namespace)
    except NotFound:
        return None
