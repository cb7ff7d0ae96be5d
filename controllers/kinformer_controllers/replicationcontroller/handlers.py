"""What makes a ReplicationController be synced besides its pods: every change of itself."""

from __future__ import annotations

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.meta import meta_namespace_key
from kinformer.models import V1ReplicationController
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.shared.owning.expectations import UIDTrackingExpectations

__all__ = ("ReplicationControllerHandler",)


class ReplicationControllerHandler:
    """An event handler for ReplicationControllers: each change of one has it synced."""

    def __init__(self, queue: RateLimitingQueue[str], expectations: UIDTrackingExpectations) -> None:
        self._queue = queue
        self._expectations = expectations

    def on_add(self, obj: V1ReplicationController, is_in_initial_list: bool, /) -> None:
        self._queue.add(meta_namespace_key(obj))

    def on_update(self, old: V1ReplicationController, new: V1ReplicationController, /) -> None:
        if old.metadata.uid != new.metadata.uid:
            # It was deleted and made anew, and nobody saw the moment between.
            self.on_delete(old)
        self._queue.add(meta_namespace_key(new))

    def on_delete(self, obj: V1ReplicationController | DeletedFinalStateUnknown[V1ReplicationController], /) -> None:
        key = obj.key if isinstance(obj, DeletedFinalStateUnknown) else meta_namespace_key(obj)
        self._expectations.forget(key)
        self._queue.add(key)
