"""The observer of prefect-kubernetes, with informers in place of kopf.

Before the worker starts::

    import prefect_observer

    prefect_observer.install()

`start_observer` and `stop_observer`, the handlers and the settings stay as they are. After a restart, the handlers are
called only for pods and jobs that have changed since, if the environment names a file that outlives the process
(``PREFECT_OBSERVER_VERSIONS``). :func:`kinformer.client.connect` finds the cluster and its credentials.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from prefect.exceptions import PrefectSignal
from prefect_kubernetes import observer

from kinformer.cache import (
    Deleted,
    ListWatch,
    ProcessorListener,
    ResourceEventHandlerDetailedFuncs,
    SharedIndexInformer,
    last_state,
)
from kinformer.client import Client, connect

__all__ = ("Follower", "install", "observe")

log = logging.getLogger("prefect_kubernetes.observer")

Object = dict[str, Any]
Handler = Callable[..., Awaitable[None]]

#: How many objects of a resource are handled at the same time. kopf has no limit.
WORKERS = 100
#: Seconds between two looks at how far the handlers are.
REMEMBER_EVERY = 5.0
RESOURCES: dict[str, tuple[str, str, str]] = {"pods": ("", "v1", "pods"), "jobs": ("batch", "v1", "jobs")}


def install() -> None:
    """Let the next `start_observer` of this process start these informers."""
    observer._observer_thread_entry = observe


class Follower:
    """
    Follows one resource, and calls a handler for each event: for one object in order, for many objects at once.

    :param handle: gets the arguments that kopf gives to a handler of events
    :param since: the version up to which everything was handled in an earlier run; empty for none
    """

    def __init__(self, client: Client, resource: str, handle: Handler, tasks: TaskGroup, since: str):
        self._handle = handle
        self._tasks = tasks
        self._workers = anyio.CapacityLimiter(WORKERS)
        #: The events that wait, and the end of the task that handles them, by the object's uid.
        self._waiting: dict[str, tuple[deque[tuple[str | None, Object]], anyio.Event]] = {}
        namespaces = sorted(observer.settings.observer.namespaces) or [""]
        source = client.resource(dict, RESOURCES[resource])
        selector = observer._observed_label_selector()
        self.informer: SharedIndexInformer[Object] = SharedIndexInformer(
            {namespace: ListWatch(source, namespace, selector) for namespace in namespaces},
            dict,
            name=resource,
            transform=_slim,
        )
        handler = ResourceEventHandlerDetailedFuncs[Object](self._added, self._changed, self._deleted)
        self._registration: ProcessorListener[Object] = self.informer.add_event_handler(handler, since=since)

    async def handled(self) -> str:
        """Wait until everything that has come by now is handled. Return the version up to which that is."""
        version = self.informer.store_resource_version
        await self._registration.wait_for_version(version)
        for _, ended in list(self._waiting.values()):
            await ended.wait()
        return version

    def _added(self, obj: Object, is_in_initial_list: bool) -> None:
        self._put(None if is_in_initial_list else "ADDED", obj)

    def _changed(self, _: Object, obj: Object) -> None:
        self._put("MODIFIED", obj)

    def _deleted(self, obj: Deleted[Object]) -> None:
        if (last := last_state(obj)) is not None:
            self._put("DELETED", last)

    def _put(self, event: str | None, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        if uid not in self._waiting:
            self._waiting[uid] = (deque(), anyio.Event())
            self._tasks.start_soon(self._handle_all, uid)
        self._waiting[uid][0].append((event, obj))

    async def _handle_all(self, uid: str) -> None:
        events, ended = self._waiting[uid]
        async with self._workers:
            while events:
                event, obj = events.popleft()
                meta = obj["metadata"]
                try:
                    await self._handle(
                        event={"type": event, "object": obj},
                        uid=uid,
                        name=meta["name"],
                        namespace=meta["namespace"],
                        labels=meta["labels"],
                        status=obj.get("status", {}),
                        spec=obj["spec"],
                        logger=log,
                    )
                except (Exception, PrefectSignal):  # a signal is not an Exception
                    log.exception("%s %s/%s was not handled", self.informer.name, meta["namespace"], meta["name"])
        del self._waiting[uid]
        ended.set()


def _slim(obj: Object) -> Object:
    """Keep what the handlers read. The specs of 3,500 pods and jobs take 60 MB."""
    spec = obj.pop("spec", {})
    obj["spec"] = {name: value for name, value in spec.items() if name == "backoffLimit"}
    return obj


def observe() -> None:
    """Run until `stop_observer` is called: the function of the observer's thread."""
    stop = observer._stop_flag = threading.Event()
    ready = observer._ready_flag = threading.Event()
    name = os.environ.get("PREFECT_OBSERVER_VERSIONS")
    file = Path(name) if name else None
    since = json.loads(file.read_text()) if file and file.exists() else {}
    try:
        anyio.run(_observe, stop, ready, file, since)
    finally:
        ready.set()  # if the observer could not start, nobody waits for it any longer


async def _observe(stop: threading.Event, ready: threading.Event, file: Path | None, since: dict[str, str]) -> None:
    async with _prefect(), connect() as client, anyio.create_task_group() as tasks:
        handlers: dict[str, Handler] = {"jobs": observer._mark_flow_run_as_crashed}
        if observer.settings.observer.replicate_pod_events:
            handlers["pods"] = observer._replicate_pod_event
        followers = {
            resource: Follower(client, resource, handle, tasks, since.get(resource, ""))
            for resource, handle in handlers.items()
        }
        for follower in followers.values():
            tasks.start_soon(follower.informer.run)
        if file:
            tasks.start_soon(_remember, followers, file)
        ready.set()
        await anyio.to_thread.run_sync(stop.wait, abandon_on_cancel=True)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _prefect() -> AsyncIterator[None]:
    await observer.initialize_clients(logger=log)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await observer.cleanup_fn(logger=log)


async def _remember(followers: dict[str, Follower], file: Path) -> None:
    for follower in followers.values():
        await follower.informer.wait_synced()
    while True:
        versions = {resource: await follower.handled() for resource, follower in followers.items()}
        new = file.with_suffix(".new")
        new.write_text(json.dumps(versions))
        new.replace(file)
        await anyio.sleep(REMEMBER_EVERY)
