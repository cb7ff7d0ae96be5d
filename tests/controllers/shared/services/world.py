"""A world for endpoint controllers: caches that tests fill, handlers that are told, and a server that notes writes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from kinformer.cache import DeletedFinalStateUnknown, Indexer
from kinformer.client import NotFound
from kinformer.client.errors import Status, StatusCause, StatusDetails, error_from_status
from kinformer.clock import FakeClock
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Endpoints, V1EndpointSlice, V1Node, V1Pod, V1Service, from_dict
from tests.controllers.objects import FakeRecorder

__all__ = ("NAMESPACE_TERMINATING", "FakeApi", "World", "make_node", "make_pod", "make_service", "stamp")

_versions = itertools.count(1)

NAMESPACE_TERMINATING = error_from_status(
    Status(
        code=403,
        reason="Forbidden",
        message="namespace is being terminated",
        details=StatusDetails(causes=(StatusCause(reason="NamespaceTerminating"),)),
    )
)


def stamp(seconds: int) -> str:
    """A time of day, so many seconds into the year."""
    return datetime.fromtimestamp(1767225600 + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def make_service(
    name: str = "web",
    *,
    selector: dict[str, str] | None = None,
    ports: list[dict[str, Any]] | None = None,
    labels: dict[str, str] | None = None,
    created: int = 0,
    **spec: Any,
) -> V1Service:
    selector = {"app": name} if selector is None else selector
    ports = [{"port": 80, "targetPort": 8080, "protocol": "TCP"}] if ports is None else ports
    return from_dict(
        V1Service,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": f"uid-{name}",
                "labels": labels or {},
                "creationTimestamp": stamp(created),
                "resourceVersion": str(next(_versions)),
            },
            "spec": {"clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "selector": selector, "ports": ports} | spec,
        },
    )


def make_pod(
    name: str,
    ip: str | list[str] = "",
    *,
    labels: dict[str, str] | None = None,
    ready: bool | None = True,
    ready_at: int = 0,
    phase: str = "Running",
    deleting: bool = False,
    uid: str = "",
    **spec: Any,
) -> V1Pod:
    ips = ip if isinstance(ip, list) else [ip] if ip else []
    meta: dict[str, Any] = {
        "name": name,
        "namespace": "ns",
        "uid": uid or f"uid-{name}",
        "labels": {"app": "web"} if labels is None else labels,
        "resourceVersion": str(next(_versions)),
    }
    if deleting:
        meta["deletionTimestamp"] = stamp(100)
    status: dict[str, Any] = {"phase": phase}
    if ips:
        status |= {"podIP": ips[0], "podIPs": [{"ip": each} for each in ips]}
    if ready is not None:
        status["conditions"] = [
            {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": stamp(ready_at)}
        ]
    return from_dict(V1Pod, {"metadata": meta, "spec": {"nodeName": "n1", "containers": []} | spec, "status": status})


def make_node(name: str = "n1", zone: str = "") -> V1Node:
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    version = str(next(_versions))
    return from_dict(V1Node, {"metadata": {"name": name, "labels": labels, "resourceVersion": version}})


class _Synced:
    async def wait_synced(self) -> None:
        return


class _Informer:
    def __init__(self) -> None:
        self.indexer: Indexer[Any] = Indexer(meta_namespace_key)
        self.handlers: list[Any] = []

    def decode_early(self, *fields: str) -> None:
        """Nothing arrives here."""

    def add_event_handler(self, handler: Any) -> _Synced:
        self.handlers.append(handler)
        return _Synced()


class World:
    """
    Caches and a server. What is written shows in the cache, and is told of, when :attr:`cache_follows` is set.

    :ivar writes: what was asked of the server, as ``verb kind/name``
    :ivar before_answer: called with what was created or updated, before the controller has the answer
    """

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.recorder = FakeRecorder()
        self.cache_follows = True
        self.writes: list[str] = []
        self.errors: list[Exception | None] = []
        self.objects: dict[tuple[str, str], Any] = {}
        self.before_answer: Callable[[Any], object] = lambda _: None
        self._informers: dict[type[Any], _Informer] = {}

    # As an informer factory, and as a client.

    def informer_for(self, type_: type[Any], *, indexers: Any = None) -> Any:
        informer = self._informers.setdefault(type_, _Informer())
        if indexers:
            informer.indexer.add_indexers(indexers)
        return informer

    def resource(self, type_: type[Any]) -> FakeApi:
        return FakeApi(self, type_)

    # What happens in the world.

    def put(self, *objects: Any, initial: bool = False) -> None:
        """There is this object now, in the cache and as the handlers are told."""
        for obj in objects:
            informer = self.informer_for(type(obj))
            before = informer.indexer.get(obj)
            informer.indexer.add(obj)
            for handler in informer.handlers:
                if before is None:
                    handler.on_add(obj, initial)
                else:
                    handler.on_update(before, obj)

    def undo(self, made: Any) -> None:
        """Somebody deletes what was just written, and the cache shows that at once."""
        del self.objects[type(made).__name__.removeprefix("V1"), made.metadata.name]
        self.remove(made)

    def remove(self, obj: Any) -> None:
        """It is gone."""
        informer = self.informer_for(type(obj))
        informer.indexer.delete(obj)
        for handler in informer.handlers:
            handler.on_delete(obj)

    def find_gone(self, obj: Any) -> None:
        """A list does not have it any more: nobody says when it went."""
        informer = self.informer_for(type(obj))
        tombstone = DeletedFinalStateUnknown(meta_namespace_key(obj), obj)
        informer.indexer.delete(tombstone)
        for handler in informer.handlers:
            handler.on_delete(tombstone)

    def endpoints(self, name: str = "web") -> V1Endpoints:
        found: V1Endpoints = self.objects["Endpoints", name]
        return found

    def slices(self) -> list[V1EndpointSlice]:
        return [obj for (kind, _), obj in self.objects.items() if kind == "EndpointSlice"]

    def show(self) -> None:
        """Have the cache catch up with what was written."""
        for obj in list(self.objects.values()):
            cached = self.informer_for(type(obj)).indexer.get(obj)
            if cached is None or cached.metadata.resource_version != obj.metadata.resource_version:
                self.put(obj)


class FakeApi:
    """One resource of the world's server."""

    def __init__(self, world: World, type_: type[Any]) -> None:
        self._world = world
        self._kind = type_.__name__.removeprefix("V1")

    async def create(self, obj: Any) -> Any:
        meta = obj.metadata
        made = self._stored(obj, meta.name or f"{meta.generate_name}{next(_versions)}")
        made.metadata.generation = 1
        made.metadata.uid = f"uid-{made.metadata.name}"
        return self._note("create", made)

    async def update(self, obj: Any) -> Any:
        there = self._world.objects.get((self._kind, obj.metadata.name))
        if there is None:
            raise error_from_status(Status(code=404, reason="NotFound", message=f"{obj.metadata.name} not found"))
        if obj.metadata.resource_version not in (None, there.metadata.resource_version):
            raise error_from_status(Status(code=409, reason="Conflict", message="the object has been modified"))
        made = self._stored(obj, obj.metadata.name)
        made.metadata.generation = (there.metadata.generation or 0) + 1
        made.metadata.uid = there.metadata.uid
        return self._note("update", made)

    async def delete(self, name: str, namespace: str) -> None:
        self._fail()
        self._world.writes.append(f"delete {self._kind}/{name}")
        gone = self._world.objects.pop((self._kind, name), None)
        if gone is None:
            raise NotFound(Status(code=404, reason="NotFound", message=f"{name} not found"))
        if self._world.cache_follows:
            self._world.remove(gone)

    def _stored(self, obj: Any, name: str) -> Any:
        made = copy.deepcopy(obj)
        made.metadata.name = name
        made.metadata.resource_version = str(next(_versions))
        return made

    def _note(self, verb: str, made: Any) -> Any:
        self._fail()
        self._world.writes.append(f"{verb} {self._kind}/{made.metadata.name}")
        self._world.objects[self._kind, made.metadata.name] = made
        if self._world.cache_follows:
            self._world.put(made)
        self._world.before_answer(made)
        return made

    def _fail(self) -> None:
        error = self._world.errors.pop(0) if self._world.errors else None
        if error is not None:
            raise error
