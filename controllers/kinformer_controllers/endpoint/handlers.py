"""What of Endpoints themselves makes their service be synced: that they are left over, are gone, or have come at last.

That somebody else has changed them is none of it, as in Kubernetes: the next change of the service or its pods sets
them right.
"""

from __future__ import annotations

from kinformer.cache import Deleted, Store, deletion_handling_key
from kinformer.models import V1Endpoints, V1Service
from kinformer.workqueue import Queue
from kinformer_controllers.shared.waiting.consistency import ConsistencyStore

__all__ = ("LEADER_ANNOTATION", "EndpointsHandler")

#: On Endpoints that are no service's: by which processes agree on a leader (or did, before there were Leases).
LEADER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"


class EndpointsHandler:
    """
    Told of Endpoints.

    :param seen: which services wait for the cache to show their Endpoints as they were written
    """

    def __init__(self, queue: Queue[str], services: Store[V1Service], seen: ConsistencyStore) -> None:
        self._queue = queue
        self._services = services
        self._seen = seen

    def on_add(self, endpoints: V1Endpoints, is_in_initial_list: bool, /) -> None:
        key = f"{endpoints.metadata.namespace}/{endpoints.metadata.name}"
        # Their service may have gone while nobody looked. The workers, which wait until everything that was there at
        # the start is known, find out.
        left_over = is_in_initial_list and LEADER_ANNOTATION not in (endpoints.metadata.annotations or {})
        if left_over or self._seen.caught_up(key):
            self._queue.add(key)

    def on_update(self, old: V1Endpoints, new: V1Endpoints, /) -> None:
        key = f"{new.metadata.namespace}/{new.metadata.name}"
        if self._seen.caught_up(key):
            self._queue.add(key)

    def on_delete(self, endpoints: Deleted[V1Endpoints], /) -> None:
        key = deletion_handling_key(endpoints)
        # Those of a service that is gone are gone as they should be.
        if self._services.get_by_key(key) is not None:
            self._queue.add(key)
