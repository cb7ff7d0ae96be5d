"""OpenSandbox server's WorkloadInformer, with an informer in place of its watch loop.

OpenSandbox runs in threads, so this uses :mod:`kinformer.sync`. Before the server starts::

    import opensandbox_server.services.k8s.client as k8s

    k8s.WorkloadInformer = opensandbox_informer.WorkloadInformer

The class has the same methods. The parameters of the loop have no effect: `resync_period_seconds`,
`watch_timeout_seconds` and `enable_watch`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import kinformer.sync
from kinformer.cache import CacheBehind, Deleted, InformerStateError, ResourceEventHandlerDetailedFuncs, last_state
from kinformer.client import ClientError
from kinformer.sync import Informer

__all__ = ("WorkloadInformer",)

#: Seconds without an event after which the watch is checked: it may be open and dead.
_SILENT = 10

Object = dict[str, Any]
Handler = Callable[[str, Object], None]


class WorkloadInformer:
    """
    :param list_fn: the partial of ``CustomObjectsApi.list_namespaced_custom_object`` that OpenSandbox makes
    :param connect: makes the client
    """

    def __init__(
        self,
        list_fn: partial[Any],
        resync_period_seconds: int = 300,
        watch_timeout_seconds: int = 60,
        enable_watch: bool = True,
        thread_name: str = "workload-informer",
        event_handler: Handler | None = None,
        connect: Callable[[], Any] = kinformer.sync.connect,
    ):
        self._of = list_fn.keywords
        self._connect = connect
        self._handlers = [event_handler] if event_handler else []
        self._subscribers: dict[str, list[Handler]] = {}
        self._lock = threading.RLock()
        self._open = ExitStack()
        self._informer: Informer[Object] | None = None
        #: How many mutations the cache may not show yet.
        self._mutations = 0
        self._catching_up = ThreadPoolExecutor(1, thread_name)
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin in the background. A second call has no effect."""
        with self._lock:
            if self._informer is not None:
                return
            client = self._open.enter_context(self._connect())
            resource = client.resource(dict, tuple(self._of[part] for part in ("group", "version", "plural")))
            self._open.enter_context(self._catching_up)
            self._informer = self._open.enter_context(resource.informer(self._of["namespace"], idle_timeout=_SILENT))
            for handler in (self._tell_subscribers, *self._handlers):
                self._register(self._informer, handler)

    def stop(self) -> None:
        """End, and return when no handler is called any more."""
        self._stopped.set()
        self._open.close()

    def get_if_synced(self, name: str) -> Object | None:
        """An object of the cache, or None where the live API must be used."""
        with suppress(InformerStateError):
            if informer := self._available():
                return informer.objects.get(f"{self._of['namespace']}/{name}")
        return None

    def list_if_synced(self) -> list[Object] | None:
        """All objects of the cache, or None where the live API must be used."""
        with suppress(InformerStateError):
            if informer := self._available():
                return informer.indexer.list()
        return None

    def invalidate(self) -> None:
        """Read from the live API until the cache shows everything up to now."""
        with self._lock:
            if self._informer is not None:
                self._mutations += 1
                self._catching_up.submit(self._catch_up, self._informer)

    def add_event_handler(self, event_handler: Handler | None) -> None:
        """Call it for every change, and first for every object that is there."""
        with self._lock:
            if event_handler is not None and event_handler not in self._handlers:
                self._handlers.append(event_handler)
                if self._informer is not None:
                    self._register(self._informer, event_handler)

    def subscribe(self, names: list[str], callback: Handler) -> Callable[[], None]:
        """Call it for the changes of these objects. Returns a function that ends the subscription."""
        mine = set(names)
        with self._lock:
            for name in mine:
                self._subscribers.setdefault(name, []).append(callback)

        def unsubscribe() -> None:
            with self._lock:
                while mine:
                    callbacks = self._subscribers[name := mine.pop()]
                    callbacks.remove(callback)
                    if not callbacks:
                        del self._subscribers[name]

        return unsubscribe

    def _available(self) -> Informer[Object] | None:
        informer = self._informer
        return informer if informer and not self._mutations and informer.aio.is_following else None

    def _catch_up(self, informer: Informer[Object]) -> None:
        # One wait covers all mutations before it. The calls that were submitted for the others find none left.
        while (covered := self._mutations) and not self._stopped.is_set():
            try:
                informer.wait_until_present()
            except (CacheBehind, ClientError):
                self._stopped.wait(1)
            except InformerStateError:
                return
            else:
                with self._lock:
                    self._mutations -= covered

    @staticmethod
    def _register(informer: Informer[Object], handler: Handler) -> None:
        def deleted(obj: Deleted[Object]) -> None:
            if (last := last_state(obj)) is not None:
                handler("DELETED", last)

        informer.add_event_handler(
            ResourceEventHandlerDetailedFuncs(
                add=lambda obj, is_in_initial_list: handler("SYNC" if is_in_initial_list else "ADDED", obj),
                update=lambda _, new: handler("MODIFIED", new),
                delete=deleted,
            )
        )

    def _tell_subscribers(self, event: str, obj: Object) -> None:
        with self._lock:
            callbacks = tuple(self._subscribers.get(obj["metadata"]["name"], ()))
        for callback in callbacks:
            callback(event, obj)
