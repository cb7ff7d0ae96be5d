"""Deciding whether a pod uses a claim, so that the claim must stay.

The server is asked with one list of pods for many claims. If a namespace with thousands of claims is emptied, a list
for each claim would be most of the load. kube-controller-manager also lists once for a batch of claims.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

import anyio

from kinformer.cache import NAMESPACE_INDEX, Indexer
from kinformer.client import Resource
from kinformer.clock import Clock
from kinformer.controllerutil.owning import controller_of
from kinformer.meta import meta_namespace_key
from kinformer.models import V1PersistentVolumeClaim, V1Pod
from kinformer_controllers.shared.volumes.pods import claims_of

__all__ = ("LiveUse", "keeps_claim")

#: Seconds for which a list shows that a claim is unused. The list was made after the claim's deletion, and kubelets
#: start no pod with a claim that is being deleted, so the limit is not needed for safety. It bounds the memory.
_FRESH: Final = 5.0


@dataclass(slots=True)
class _Lists:
    """
    The lists of one namespace's pods.

    :ivar begun: the number of the last list that was begun
    :ivar answered: the number of the last list that was answered
    :ivar at: when that one was begun
    :ivar unused: the uids of the claims that were being deleted then, and that no pod of that list keeps
    """

    turn: anyio.Lock = field(default_factory=anyio.Lock)
    begun: int = 0
    answered: int = 0
    at: float = float("-inf")
    unused: frozenset[str] = frozenset()


class LiveUse:
    """
    Asks the server whether pods use claims that are being deleted.

    :param claims: the cache of claims
    """

    def __init__(self, pods: Resource[V1Pod], claims: Indexer[V1PersistentVolumeClaim], clock: Clock) -> None:
        self._pods, self._claims, self._clock = pods, claims, clock
        self._lists: dict[str, _Lists] = {}

    async def is_used(self, claim: V1PersistentVolumeClaim) -> bool:
        """
        Whether a pod on the server keeps a claim of the cache from being deleted.

        :raises ClientError: if the server refuses the list
        """
        namespace, uid = claim.metadata.namespace, claim.metadata.uid
        lists = self._lists.setdefault(namespace, _Lists())
        before = lists.begun
        async with lists.turn:
            # A list from before this call shows nothing about a used claim: its pod may have ended since, and no other
            # event will come.
            is_known = lists.answered > before or (uid in lists.unused and self._clock.monotonic() - lists.at <= _FRESH)
            if not is_known:
                await self._list(namespace, lists)
            return uid not in lists.unused

    async def _list(self, namespace: str, lists: _Lists) -> None:
        self._forget_old()
        deleted = [
            claim for claim in self._claims.by_index(NAMESPACE_INDEX, namespace) if claim.metadata.deletion_timestamp
        ]
        lists.begun += 1
        at = self._clock.monotonic()
        pods = defaultdict(list)
        for pod in (await self._pods.list(namespace)).items:
            for key in claims_of(pod):
                pods[key].append(pod)
        lists.unused = frozenset(
            claim.metadata.uid
            for claim in deleted
            if not any(keeps_claim(pod, claim) for pod in pods.get(meta_namespace_key(claim), ()))
        )
        lists.answered, lists.at = lists.begun, at

    def _forget_old(self) -> None:
        oldest = self._clock.monotonic() - _FRESH
        self._lists = {
            namespace: lists
            for namespace, lists in self._lists.items()
            if lists.at >= oldest or lists.turn.statistics().locked
        }


def keeps_claim(pod: V1Pod, claim: V1PersistentVolumeClaim) -> bool:
    """
    Whether a pod keeps a claim from being deleted.

    A pod that is not bound to a node does not: its kubelet will refuse a claim that is being deleted. The claim of an
    ephemeral volume is kept only by its own pod, and only until the kubelet has shut the pod down. Otherwise pod and
    claim would wait for each other.
    """
    spec, name = pod.spec, claim.metadata.name
    if spec is None or not spec.node_name or pod.metadata.namespace != claim.metadata.namespace:
        return False
    for volume in spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            if volume.persistent_volume_claim.claim_name == name:
                return True
        elif volume.ephemeral is not None and f"{pod.metadata.name}-{volume.name}" == name:
            owner = controller_of(claim)
            if owner is not None and owner.uid == pod.metadata.uid and not _is_shut_down(pod):
                return True
    return False


def _is_shut_down(pod: V1Pod) -> bool:
    """Whether the kubelet has shut a pod down, or the pod was force-deleted."""
    meta = pod.metadata
    return meta.deletion_timestamp is not None and meta.deletion_grace_period_seconds == 0
