"""Event handlers: :class:`OwnerHandler` for owners, :class:`PodHandler` for pods, :class:`ChangeHandler` for the rest.

In: the events of an informer. Out: keys of owners in a queue, and their expectations lowered.
``Controller.watch`` and ``watch_owned`` are enough for most controllers. These handlers are for controllers that count
what they have written (:mod:`~kinformer.controllerutil.expectations`), that adopt orphans, or that keep a state beside
the cache.

A pod counts as deleted as soon as its deletion timestamp is set: its controller creates another one without waiting for
the kubelet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.cache import Deleted, deletion_handling_key, last_state
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import OwnerId, PodOwners, controller_of
from kinformer.controllerutil.pods import counts_otherwise, is_pod_ready
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Pod
from kinformer.workqueue import RateLimitingQueue

__all__ = ("ChangeHandler", "OwnerHandler", "PodHandler")


class ChangeHandler:
    """
    An event handler that calls one function for every change of an object.

    :param changed: called with the object before and after the change. None stands for an object that is not there, as
        for a predicate of ``Controller.watch``. An object that is gone and whose last state is not known causes no call
    """

    def __init__(self, changed: Callable[[Any, Any], object]) -> None:
        self._changed = changed

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self._changed(None, obj)

    def on_update(self, old: Any, new: Any, /) -> None:
        self._changed(old, new)

    def on_delete(self, obj: Any, /) -> None:
        state = last_state(obj)
        if state is not None:
            self._changed(state, None)


class PodHandler:
    """
    An event handler for a pod informer.

    :param queue: the queue of the owners' keys
    :param expectations: the owners' expectations; deletions are observed by the pod's key. None if there are none
    :param owners: finds a pod's owner
    :param counts_only: whether owners do no more with their pods than to count them. Then a change of a pod that no
        count depends on adds nothing
    """

    def __init__(
        self,
        queue: RateLimitingQueue[str],
        expectations: Expectations | None,
        owners: PodOwners,
        *,
        counts_only: bool = False,
    ) -> None:
        self._add = queue.add
        self._add_after = queue.add_after
        self._expectations = expectations
        self._owners = owners
        self._counts_only = counts_only

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        if pod.metadata.deletion_timestamp:
            # After a restart of this process: the pod is already being deleted, so it is not an expected creation.
            self._on_gone(pod)
            return
        owner = self._owners.owner_of(pod)
        if owner is not None:
            if self._expectations is not None:
                self._expectations.creation_observed(owner)
            self._add(owner.key)
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
                self._add(old_owner.key)
        if owner is not None:
            if not self._counts_only or counts_otherwise(old, new):
                self._add(owner.key)
                self._look_again_when_available(owner, old, new)
        elif reference is None and (labels_changed or old_reference is not None):
            self._offer(new)

    def on_delete(self, obj: Deleted[V1Pod], /) -> None:
        # The state in a tombstone may be old. An owner that adopted the pod later learns of its deletion in its next
        # sync.
        pod = last_state(obj)
        if pod is not None:
            self._on_gone(pod)

    def _look_again_when_available(self, owner: OwnerId, old: V1Pod, new: V1Pod) -> None:
        min_ready_seconds = self._owners.min_ready_seconds(owner)
        if min_ready_seconds > 0 and not is_pod_ready(old) and is_pod_ready(new):
            self._add_after(owner.key, min_ready_seconds)

    def _on_gone(self, pod: V1Pod) -> None:
        owner = self._owners.owner_of(pod)
        if owner is not None:
            if self._expectations is not None:
                self._expectations.deletion_observed(owner, meta_namespace_key(pod))
            self._add(owner.key)

    def _offer(self, pod: V1Pod) -> None:
        for candidate in self._owners.candidates_for(pod):
            self._add(candidate)


class OwnerHandler:
    """
    An event handler for objects that own others. Each change of an object adds its key to the queue.

    :param add: called with the key; usually a queue's ``add``
    :param forget: called with the key and the uid of each object that is gone; the uid is empty if it is not known
    """

    def __init__(self, add: Callable[[str], object], *forget: Callable[[str, str], object]) -> None:
        self._add = add
        self._forget = forget

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self._add(meta_namespace_key(obj))

    def on_update(self, old: Any, new: Any, /) -> None:
        if old.metadata.uid != new.metadata.uid:
            # It was deleted and created again, and the watch did not show the deletion.
            self._gone(meta_namespace_key(old), old)
        self._add(meta_namespace_key(new))

    def on_delete(self, obj: Any, /) -> None:
        self._gone(deletion_handling_key(obj), last_state(obj))

    def _gone(self, key: str, obj: Any) -> None:
        uid = obj.metadata.uid or "" if obj is not None else ""
        for forget in self._forget:
            forget(key, uid)
        self._add(key)
