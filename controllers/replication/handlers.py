"""What makes a ReplicationController be synced: its own changes, and those of the pods that are, or could be, its own.

The handlers also cross off what the controller expected of its pods: a pod that has come, or one that goes. A pod that
is being deleted counts as gone from the moment that its deletion timestamp is set; the controller makes another one
without waiting for the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import structlog

from controllers.pods.expectations import UIDTrackingExpectations
from controllers.pods.owner import controller_of
from controllers.pods.status import is_pod_ready
from kinformer.cache import DeletedFinalStateUnknown
from kinformer.models import V1Pod, V1ReplicationController
from kinformer.workqueue import RateLimitingQueue

__all__ = ("OwnerLookup", "PodHandler", "ReplicationControllerHandler", "key_of")

log = structlog.get_logger(__name__)


def key_of(obj: V1Pod | V1ReplicationController) -> str:
    meta = obj.metadata
    return f"{meta.namespace}/{meta.name}"


class OwnerLookup(Protocol):
    """Who a pod belongs to, in one of the two ways of owning pods."""

    def owner_of(self, pod: V1Pod) -> V1ReplicationController | None:
        """The one whose pod it is."""

    def candidates_for(self, pod: V1Pod) -> list[V1ReplicationController]:
        """Those that might want it, as it is nobody's."""


class ReplicationControllerHandler:
    """Told of ReplicationControllers: each change of one has it synced."""

    def __init__(self, queue: RateLimitingQueue[str], expectations: UIDTrackingExpectations) -> None:
        self._queue = queue
        self._expectations = expectations

    def on_add(self, obj: V1ReplicationController, is_in_initial_list: bool, /) -> None:
        self._queue.add(key_of(obj))

    def on_update(self, old: V1ReplicationController, new: V1ReplicationController, /) -> None:
        if old.metadata.uid != new.metadata.uid:
            # It was deleted and made anew, and nobody saw the moment between.
            self.on_delete(old)
        self._queue.add(key_of(new))

    def on_delete(self, obj: V1ReplicationController | DeletedFinalStateUnknown[V1ReplicationController], /) -> None:
        key = obj.key if isinstance(obj, DeletedFinalStateUnknown) else key_of(obj)
        self._expectations.forget(key)
        self._queue.add(key)


class PodHandler:
    """
    Told of pods: has those ReplicationControllers synced that a change concerns.

    :param owners: finds them
    """

    def __init__(
        self, queue: RateLimitingQueue[str], expectations: UIDTrackingExpectations, owners: OwnerLookup
    ) -> None:
        self._add: Callable[[str], None] = queue.add
        self._add_after = queue.add_after
        self._expectations = expectations
        self._owners = owners

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        if pod.metadata.deletion_timestamp:
            # After a restart: it is on its way out already, and must not be taken for one that was waited for.
            self._on_gone(pod)
            return
        owner = self._owners.owner_of(pod)
        if owner is not None:
            key = key_of(owner)
            self._expectations.creation_observed(key)
            self._add(key)
        elif controller_of(pod) is None:
            self._offer(pod)

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        if new.metadata.resource_version == old.metadata.resource_version:
            return  # a resync
        labels_changed = (new.metadata.labels or {}) != (old.metadata.labels or {})
        if new.metadata.deletion_timestamp:
            self._on_gone(new)
            if labels_changed:
                self._on_gone(old)
            return
        reference, old_reference = controller_of(new), controller_of(old)
        owner = self._owners.owner_of(new)
        if labels_changed or reference != old_reference:
            old_owner = self._owners.owner_of(old)
            if old_owner is not None:
                self._add(key_of(old_owner))
        if owner is not None:
            self._on_owned_update(owner, old, new)
        elif reference is None and (labels_changed or old_reference is not None):
            self._offer(new)

    def on_delete(self, obj: V1Pod | DeletedFinalStateUnknown[V1Pod], /) -> None:
        # A tombstone's state may be an old one; who has adopted the pod since hears of it from its next sync.
        pod = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
        if pod is not None:
            self._on_gone(pod)

    def _on_owned_update(self, owner: V1ReplicationController, old: V1Pod, new: V1Pod) -> None:
        key = key_of(owner)
        self._add(key)
        min_ready_seconds = owner.spec.min_ready_seconds or 0
        if min_ready_seconds > 0 and not is_pod_ready(old) and is_pod_ready(new):
            self._add_after(key, min_ready_seconds)

    def _on_gone(self, pod: V1Pod) -> None:
        owner = self._owners.owner_of(pod)
        if owner is not None:
            key = key_of(owner)
            self._expectations.deletion_observed(key, key_of(pod))
            self._add(key)

    def _offer(self, pod: V1Pod) -> None:
        for candidate in self._owners.candidates_for(pod):
            self._add(key_of(candidate))
