"""The ObjectCache of Patroni, with an informer in place of its watch loop.

Patroni runs in threads, so this uses :mod:`kinformer.sync`. Before Patroni starts::

    import patroni.dcs.kubernetes

    patroni.dcs.kubernetes.ObjectCache = patroni_cache.InformerCache

What Patroni does with a change, and when it wakes its loop, stays as it is: this class only brings the changes.
:func:`kinformer.sync.connect` finds the cluster and its credentials.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from patroni.dcs.kubernetes import K8sObject, ObjectCache, logger

import kinformer.sync
from kinformer.cache import Deleted, DeletedFinalStateUnknown, ProcessorListener, ResourceEventHandlerDetailedFuncs
from kinformer.sync import Informer

__all__ = ("InformerCache",)

Object = dict[str, Any]


class InformerCache(ObjectCache):  # type: ignore[misc]  # Patroni is not always installed
    """
    :ivar connect: makes the client
    :ivar idle_timeout: seconds of silence after which a second watch takes over. The leader writes every ten seconds
    """

    connect: Callable[[], Any] = staticmethod(kinformer.sync.connect)
    idle_timeout = 20.0

    def __init__(
        self, dcs: Any, func: partial[Any], retry: Any, condition: threading.Condition, name: str | None = None
    ):
        # The original's __init__ is not called. It calls super() with the global name ObjectCache. After the
        # replacement, this name is this class, and the original would call itself without end.
        threading.Thread.__init__(self, daemon=True)
        self._dcs, self._func, self._retry, self._condition, self._name = dcs, func, retry, condition, name
        self._is_ready = False
        self._response, self._response_lock = None, threading.Lock()
        self._object_cache: dict[str, Any] = {}
        self._object_cache_lock = threading.Lock()
        self._annotations_map = {dcs.leader_path: dcs._LEADER, dcs.config_path: dcs._CONFIG}
        self._killed = threading.Event()
        self.start()

    def run(self) -> None:
        while True:
            try:
                self._follow()
            except Exception as error:
                logger.error("ObjectCache.run %r", error)
                time.sleep(1)

    def kill_stream(self) -> None:
        """List and watch again: what was written shows that this cache is behind."""
        self._killed.set()

    def _follow(self) -> None:
        self._killed.clear()
        kinds = "endpoints" if self._dcs._api.use_endpoints else "configmaps"
        resource = ("", "v1", "pods" if self._name is None else kinds)  # Patroni gives no name to the cache of pods
        (namespace,), selector = self._func.args, self._func.keywords["label_selector"]
        with (
            self.connect() as client,
            client.resource(dict, resource).informer(
                namespace, label_selector=selector, idle_timeout=self.idle_timeout
            ) as informer,
        ):
            registration = informer.add_event_handler(self._handler(informer))
            try:
                while not self._killed.wait(0.1):
                    self._tell_ready(informer, registration)
            finally:
                with self._condition:
                    self._is_ready = False

    def _tell_ready(self, informer: Informer[Object], registration: ProcessorListener[Object]) -> None:
        ready = registration.has_synced and informer.failure is None
        if ready == self._is_ready:
            return
        with self._object_cache_lock:  # what an earlier informer has left
            for name in self._object_cache.keys() - {obj["metadata"]["name"] for obj in informer.indexer.list()}:
                del self._object_cache[name]
        with self._condition:
            self._is_ready = ready
            self._condition.notify_all()

    def _handler(self, informer: Informer[Object]) -> ResourceEventHandlerDetailedFuncs[Object]:
        def added(obj: Object, is_in_initial_list: bool) -> None:
            if is_in_initial_list:
                self.set(obj["metadata"]["name"], K8sObject(obj))
            else:
                self._process_event({"type": "ADDED", "object": obj})

        def deleted(obj: Deleted[Object]) -> None:
            if isinstance(obj, DeletedFinalStateUnknown):  # a list has shown it, so the version is that of the list
                meta = {"name": obj.key.rpartition("/")[2], "resourceVersion": informer.aio.last_sync_resource_version}
                obj = {"metadata": meta}
            self._process_event({"type": "DELETED", "object": obj})

        return ResourceEventHandlerDetailedFuncs(
            added, lambda _, new: self._process_event({"type": "MODIFIED", "object": new}), deleted
        )
