"""Writing and following the objects of a cluster: over HTTP, or in the process of the embedded API server.

A real API server is written to over HTTP. The embedded one would take some minutes for 150,000 pods. So the first pod
of a ReplicaSet is created by a request, and the others are stored as the server has made that one. What is written
while a manager runs is written without a request, because the server's process has other things to do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import anyio.lowlevel

from benchmarks.cluster_objects import NODES, PODS, ZONE
from kinformer.cache import Deleted, ResourceEventHandlerFuncs, deletion_handling_key
from kinformer.client import AlreadyExists, Client, PatchType
from kinformer.envtest import ApiServer
from kinformer.envtest.operations import DeleteOptions
from kinformer.envtest.registry import Resource
from kinformer.envtest.storage import Change
from kinformer.informers import SharedInformerFactory
from kinformer.meta import GroupResource, GroupVersionResource, meta_namespace_key
from kinformer.meta.patch import merge_patch

__all__ = ("InServer", "OverHttp", "Saw", "Writer")

Obj = dict[str, Any]

#: Called with a resource, a key and an object; None for an object that is gone.
Saw = Callable[[GroupVersionResource, str, "Obj | None"], None]


class Writer(Protocol):
    """Writes objects, and follows them."""

    async def create(self, gvr: GroupVersionResource, obj: Obj, status: Obj | None = None) -> Obj:
        """Create an object, and then write its status. An object that is there already stays."""

    async def patch(self, gvr: GroupVersionResource, namespace: str, name: str, part: str, patch: Obj) -> None:
        """
        Merge a patch into an object.

        :param part: its subresource; empty for the object itself
        """

    async def empty(self, gvr: GroupVersionResource, namespace: str) -> None:
        """Delete all objects of a namespace."""

    def following(self, resources: Collection[GroupVersionResource], saw: Saw) -> AbstractAsyncContextManager[None]:
        """Call `saw` for each object, and for each change, while the block runs."""


class OverHttp:
    """
    Writes with requests.

    :param client: a client without a rate limit
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, gvr: GroupVersionResource, obj: Obj, status: Obj | None = None) -> Obj:
        """See :meth:`Writer.create`."""
        namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        resource = self._client.resource(dict, gvr)
        try:
            made = await resource.create(obj)
        except AlreadyExists:
            made = await resource.get(name, namespace)
        if status is not None:
            await self.patch(gvr, namespace, name, "status", {"status": status})
        return made

    async def patch(self, gvr: GroupVersionResource, namespace: str, name: str, part: str, patch: Obj) -> None:
        """See :meth:`Writer.patch`."""
        resource = self._client.resource(dict, gvr)
        await resource.patch(name, patch, namespace, patch_type=PatchType.MERGE, subresource=part)

    async def empty(self, gvr: GroupVersionResource, namespace: str) -> None:
        """See :meth:`Writer.empty`."""
        await self._client.resource(dict, gvr).delete_collection(namespace)

    @asynccontextmanager
    async def following(self, resources: Collection[GroupVersionResource], saw: Saw) -> AsyncIterator[None]:
        """See :meth:`Writer.following`."""
        async with SharedInformerFactory(self._client) as informers:
            for gvr in resources:
                informer = informers.informer_for(dict, gvr)
                informer.add_event_handler(_handler(gvr, saw))
            informers.start()
            await informers.wait_for_cache_sync()
            yield


def _handler(gvr: GroupVersionResource, saw: Saw) -> ResourceEventHandlerFuncs[Obj]:
    def gone(obj: Deleted[Obj]) -> None:
        saw(gvr, deletion_handling_key(obj), None)

    return ResourceEventHandlerFuncs(
        add=lambda obj: saw(gvr, meta_namespace_key(obj), obj),
        update=lambda old, new: saw(gvr, meta_namespace_key(new), new),
        delete=gone,
    )


class InServer:
    """
    Writes in the process of an embedded API server.

    :param over_http: for what has to be created with defaults and validation
    """

    def __init__(self, server: ApiServer, over_http: OverHttp) -> None:
        self._over_http = over_http
        self._operations = server.operations
        self._storage = server.storage
        self._registry = server.registry
        #: Stored pods, by the uid of their ReplicaSet.
        self._samples: dict[str, Obj] = {}

    async def create(self, gvr: GroupVersionResource, obj: Obj, status: Obj | None = None) -> Obj:
        """See :meth:`Writer.create`."""
        meta = obj["metadata"]
        owner = next((it["uid"] for it in meta.get("ownerReferences", ())), "")
        if gvr != PODS or owner not in self._samples:
            made = await self._over_http.create(gvr, obj, status)
            if gvr == PODS:
                found = self._operations.find(self._resource(gvr), meta["namespace"], meta["name"])
                self._samples[owner] = found.decode()
            return made
        await anyio.lowlevel.checkpoint()
        sample, status = self._samples[owner], status or {}
        node = self._operations.find(self._resource(NODES), "", obj["spec"]["nodeName"])
        # The server gives a pod the zone of its node, and fills the items of lists.
        labels = {**sample["metadata"]["labels"], ZONE: node.labels[ZONE]}
        states = zip(sample["status"]["containerStatuses"], status["containerStatuses"], strict=True)
        filled = {
            "conditions": sample["status"]["conditions"],
            "containerStatuses": [{**old, **new} for old, new in states],
        }
        meta = {**sample["metadata"], "name": meta["name"], "uid": self._operations.new_uid(), "labels": labels}
        alike = {
            "metadata": meta,
            "spec": {**sample["spec"], "nodeName": obj["spec"]["nodeName"]},
            "status": {**sample["status"], **status, **filled},
        }
        return self._storage.create(self._resource(gvr).storage, meta["namespace"], meta["name"], alike).decode()

    async def patch(self, gvr: GroupVersionResource, namespace: str, name: str, part: str, patch: Obj) -> None:
        """See :meth:`Writer.patch`."""
        await anyio.lowlevel.checkpoint()

        def change(old: Obj | None) -> Obj:
            merged: Obj = merge_patch(old or {}, patch)
            return merged

        self._operations.update(self._resource(gvr), namespace, name, change, subresource=part)

    async def empty(self, gvr: GroupVersionResource, namespace: str) -> None:
        """See :meth:`Writer.empty`."""
        resource = self._resource(gvr)
        for stored in list(self._storage.log(resource.storage).select(namespace)):
            await anyio.lowlevel.checkpoint()
            self._operations.delete(resource, namespace, stored.key.partition("/")[2], DeleteOptions())

    @asynccontextmanager
    async def following(self, resources: Collection[GroupVersionResource], saw: Saw) -> AsyncIterator[None]:
        """See :meth:`Writer.following`."""
        stored = {self._resource(gvr).storage: gvr for gvr in resources}
        for storage, gvr in stored.items():
            for version in self._storage.log(storage).select(""):
                saw(gvr, version.key, version.decode())

        def listen(resource: GroupResource, change: Change) -> None:
            gvr = stored.get(resource)
            if gvr is not None:
                saw(gvr, change.now.key, None if change.type == "DELETED" else change.now.decode())

        self._storage.listeners.append(listen)
        try:
            yield
        finally:
            self._storage.listeners.remove(listen)

    def _resource(self, gvr: GroupVersionResource) -> Resource:
        found = self._registry.find(gvr.group, gvr.version, gvr.resource)
        assert found is not None, gvr
        return found
