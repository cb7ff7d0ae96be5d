"""A small cluster for tests of one controller's sync: caches that the test fills, and a server that notes its requests.

Caches and server are apart, so that a test can have a cache that is behind. :meth:`Cluster.put` fills both.
"""

from __future__ import annotations

import itertools
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from kinformer.clock import FakeClock
from kinformer.models import V1Namespace, V1NamespaceStatus, V1ObjectMeta, decode, resource_for
from tests.controllers.objects import FakeInformers, not_found

__all__ = ("Cluster",)

_versions = itertools.count(1)


class Cluster:
    """
    :ivar requests: what the server was asked, as ``verb Kind key``
    :ivar sent: the bodies and options of those requests
    :ivar errors: raised in place of an answer, by ``verb Kind``, the first one first
    """

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.informers: Any = FakeInformers()
        self.requests: list[str] = []
        self.sent: list[Any] = []
        self.errors: dict[str, list[Exception]] = {}
        self.stored: dict[tuple[type[Any], str], Any] = {}
        self.client: Any = SimpleNamespace(
            resource=lambda type_: _Resource(self, type_), certificate_authorities=b"", clock=self.clock
        )

    def put(self, obj: Any) -> Any:
        """Have an object on the server and in the cache."""
        self.put_on_server(obj)
        self.cache(obj)
        return obj

    def put_on_server(self, obj: Any) -> None:
        meta = obj.metadata
        meta.uid = meta.uid or f"uid-{meta.name}"
        meta.resource_version = str(next(_versions))
        self.stored[type(obj), _key(obj)] = obj

    def cache(self, obj: Any) -> None:
        self.informers.informer_for(type(obj)).indexer.add(obj)

    def uncache(self, obj: Any) -> None:
        self.informers.informer_for(type(obj)).indexer.delete(obj)

    def put_namespace(self, name: str = "ns", phase: str = "Active") -> V1Namespace:
        namespace = V1Namespace(metadata=V1ObjectMeta(name=name), status=V1NamespaceStatus(phase=phase))
        self.put(namespace)
        return namespace

    def on_server(self, type_: type[Any], key: str) -> Any:
        """An object as the server has it, None if it has none."""
        return self.stored.get((type_, key))

    def ask(self, verb: str, type_: type[Any], key: str, sent: Any = None) -> Any:
        """Note a request, and answer with the object that there is."""
        kind = resource_for(type_).kind
        self.requests.append(f"{verb} {kind} {key}")
        self.sent.append(sent)
        if errors := self.errors.get(f"{verb} {kind}"):
            raise errors.pop(0)
        found = self.stored.get((type_, key))
        if found is None and verb != "create":
            raise not_found()
        return found

    def forget(self, type_: type[Any], key: str) -> None:
        del self.stored[type_, key]


class _Resource:
    """What controllers ask of :class:`kinformer.client.Resource`."""

    def __init__(self, cluster: Cluster, type_: type[Any]) -> None:
        self._cluster = cluster
        self._type = type_

    async def get(self, name: str, namespace: str = "", *, resource_version: str = "") -> Any:
        return self._cluster.ask("get", self._type, _join(namespace, name))

    async def list(self, namespace: str = "", *, field_selector: str = "") -> Any:
        """:param field_selector: empty, or one of a name, or of pods by their node"""
        cluster, kind = self._cluster, resource_for(self._type).kind
        cluster.requests.append(f"list {kind} {namespace}")
        cluster.sent.append(None)
        if errors := cluster.errors.get(f"list {kind}"):
            raise errors.pop(0)
        found = [obj for (type_, _), obj in cluster.stored.items() if type_ is self._type]
        if field_selector:
            path, _, wanted = field_selector.partition("=")
            of = {"metadata.name": attrgetter("metadata.name"), "spec.nodeName": attrgetter("spec.node_name")}[path]
            found = [obj for obj in found if of(obj) == wanted]
        return SimpleNamespace(items=[obj for obj in found if namespace in ("", obj.metadata.namespace)])

    async def create(self, obj: Any, namespace: str = "") -> Any:
        if isinstance(obj, bytes):
            obj = decode(self._type, obj)
        self._cluster.ask("create", self._type, _key(obj), obj)
        self._cluster.put_on_server(obj)
        return obj

    async def update(self, obj: Any) -> Any:
        self._cluster.ask("update", self._type, _key(obj), obj)
        self._cluster.put_on_server(obj)
        return obj

    async def update_status(self, obj: Any) -> Any:
        self._cluster.ask("update_status", self._type, _key(obj), obj)
        self._cluster.put_on_server(obj)
        return obj

    async def patch(self, name: str, patch: Any, namespace: str = "", **options: Any) -> Any:
        return self._cluster.ask("patch", self._type, _join(namespace, name), patch)

    async def delete(self, name: str, namespace: str = "", options: Any = None) -> Any:
        key = _join(namespace, name)
        self._cluster.ask("delete", self._type, key, options)
        self._cluster.forget(self._type, key)

    def subresource(self, name: str, type_: type[Any]) -> Any:
        async def update(of: str, obj: Any, namespace: str = "") -> Any:
            self._cluster.ask(f"update_{name}", self._type, _join(namespace, of), obj)
            self._cluster.put_on_server(obj)
            return obj

        return SimpleNamespace(update=update)


def _key(obj: Any) -> str:
    if obj.metadata is None:
        return ""  # a review, which has no name
    return _join(obj.metadata.namespace or "", obj.metadata.name)


def _join(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
