"""The event handler for Endpoints. It queues their service in three cases.

- They are in the first list: their service may be gone.
- They were deleted, and their service exists.
- The cache now shows a write that the service has waited for.

Changes by other clients are ignored, as in Kubernetes: the next change of the service or its pods corrects them.
"""

from __future__ import annotations

from kinformer.cache import Deleted, Store, deletion_handling_key
from kinformer.controllerutil.consistency import ConsistencyStore
from kinformer.models import V1Endpoints, V1Service
from kinformer.workqueue import Queue

__all__ = ("LEADER_ANNOTATION", "EndpointsHandler")

#: The annotation of Endpoints that belong to no service: an old kind of lock for leader election.
LEADER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"


class EndpointsHandler:
    """
    The event handler for Endpoints.

    :param seen: knows the services that wait until the cache shows their last write
    """

    def __init__(self, queue: Queue[str], services: Store[V1Service], seen: ConsistencyStore) -> None:
        self._queue = queue
        self._services = services
        self._seen = seen

    def on_add(self, endpoints: V1Endpoints, is_in_initial_list: bool, /) -> None:
        key = f"{endpoints.metadata.namespace}/{endpoints.metadata.name}"
        # Their service may have been deleted while this process did not run. The workers start when all caches have
        # synced, and then check it.
        left_over = is_in_initial_list and LEADER_ANNOTATION not in (endpoints.metadata.annotations or {})
        if left_over or self._seen.caught_up(key):
            self._queue.add(key)

    def on_update(self, old: V1Endpoints, new: V1Endpoints, /) -> None:
        key = f"{new.metadata.namespace}/{new.metadata.name}"
        if self._seen.caught_up(key):
            self._queue.add(key)

    def on_delete(self, endpoints: Deleted[V1Endpoints], /) -> None:
        key = deletion_handling_key(endpoints)
        # If the service is gone, too, there is nothing to do.
        if self._services.get_by_key(key) is not None:
            self._queue.add(key)
