"""What the small operators of this folder share: custom resources, children of theirs, and writes that can be repeated.

Each module beside this one is a public bug, made again: an operator with the bug, its mended twin, and what a user
does while it shows. The twin inherits everything from the broken one but the method that was wrong. So what differs
between the two is what the bug was.

The operators are level-triggered but for their bugs: a sync looks at what is there, and a sync that was killed anywhere
can be done again. What holds data is a ConfigMap here and not a PersistentVolumeClaim. To lose it is as bad, and no
other controller is needed for it to go away.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from kinformer.cache import SharedIndexInformer
from kinformer.client import AlreadyExists, Client, DeleteOptions, Invalid, NotFound, PatchType, Resource
from kinformer.client.types import Preconditions
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.meta import GroupVersionResource
from tests.simulation.bugs.objects import NAMESPACE, Kind, generation_of, is_going, name_of, uid_of

__all__ = ("Bug", "Operator", "User", "World")

DEFINITIONS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
FINALIZER = "example.com/clean-up"


class Operator:
    """
    An operator for one custom resource.

    :cvar KIND: what it is for
    :cvar CHILDREN: the kinds of what it makes, which it watches. What it makes has the label ``cluster``
    :cvar REPLICAS: how many processes run it
    """

    KIND: ClassVar[Kind]
    CHILDREN: ClassVar[tuple[type[Any], ...]] = ()
    REPLICAS: ClassVar[int] = 1

    def __init__(self, context: ControllerContext) -> None:
        self.client = context.client
        self.clusters = context.informers.informer_for(dict, tuple(self.KIND.gvr), kind=self.KIND.kind)  # type: ignore[arg-type]
        self.caches: dict[type[Any], SharedIndexInformer[Any]] = {
            type_: context.informers.informer_for(type_) for type_ in self.CHILDREN
        }
        self.controller = Controller(self.KIND.kind.lower(), self._sync, clock=context.clock).watch(self.clusters)
        for cache in self.caches.values():
            self.controller.watch_mapped(cache, _cluster_of)

    @classmethod
    def definition(cls) -> dict[str, Any]:
        """The definition of the custom resource."""
        return cls.KIND.definition()

    @classmethod
    def make_controller(cls, context: ControllerContext) -> Controller:
        return cls(context).controller

    async def sync(self, cluster: dict[str, Any]) -> None:
        """Do what the custom resource asks for."""
        raise NotImplementedError

    async def clean_up(self, cluster: dict[str, Any]) -> None:
        """Take everything away that was made for one that is being deleted."""

    async def _sync(self, key: str) -> None:
        cluster = self.clusters.indexer.get_by_key(key)
        if cluster is None:
            return
        if is_going(cluster):
            await self.clean_up(cluster)
            await self._set_finalizers(cluster, [])
            return
        if FINALIZER not in cluster["metadata"].get("finalizers", ()):
            await self._set_finalizers(cluster, [FINALIZER])
        await self.sync(cluster)

    # --- reading

    def cached(self, type_: type[Any], name: str) -> Any:
        """A child as the cache has it, None if it has none."""
        return self.caches[type_].indexer.get_by_key(f"{NAMESPACE}/{name}")

    def cached_of(self, type_: type[Any], **labels: str) -> list[Any]:
        """The children with these labels, as the cache has them, by name."""
        found = [obj for obj in self.caches[type_].indexer.list() if _has(obj, labels)]
        return sorted(found, key=name_of)

    async def read(self, type_: type[Any], name: str) -> Any:
        """A child as the server has it now, None if it has none."""
        with suppress(NotFound):
            return await self.client.resource(type_).get(name, NAMESPACE)
        return None

    async def listed(self, type_: type[Any], **labels: str) -> list[Any]:
        """The children with these labels, as the server lists them, by name."""
        selector = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
        found = await self.client.resource(type_).list(NAMESPACE, label_selector=selector)
        return sorted(found.items, key=name_of)

    # --- writing

    async def confirm(self, cluster: dict[str, Any]) -> None:
        """
        See to it that the server has a custom resource just as it is seen.

        :raises SyncError: if it has another one, one that asks for something else, or one that is being deleted
        """
        clusters = self.client.resource(dict, self.KIND.gvr, kind=self.KIND.kind)
        try:
            now = await clusters.get(name_of(cluster), NAMESPACE)
        except NotFound as error:
            raise SyncError(f"{name_of(cluster)} is gone") from error
        if uid_of(now) != uid_of(cluster) or generation_of(now) != generation_of(cluster) or is_going(now):
            raise SyncError(f"{name_of(cluster)} is not as it is seen")

    async def create(self, cluster: dict[str, Any], child: Any) -> None:
        """
        Create a child, if there is none of the name.

        :raises SyncError: if the server has the custom resource otherwise than it is seen
        """
        await self.confirm(cluster)
        with suppress(AlreadyExists):
            await self.client.resource(type(child)).create(child)

    async def delete(self, type_: type[Any], name: str, *, uid: str | None = None) -> None:
        """
        Delete a child, if it is there.

        :param uid: only the very one that was seen: another one of its name stays
        :raises Conflict: if another one has the name
        """
        options = DeleteOptions(preconditions=Preconditions(uid=uid)) if uid else None
        with suppress(NotFound):
            await self.client.resource(type_).delete(name, NAMESPACE, options)

    async def patch(self, type_: type[Any], name: str, body: Mapping[str, Any]) -> None:
        await self.client.resource(type_).patch(name, body, NAMESPACE, patch_type=PatchType.MERGE)

    async def set_status(self, cluster: dict[str, Any], **status: Any) -> None:
        """:raises Conflict: if the custom resource has changed since it was read"""
        await self._patch_cluster(cluster, {"status": status}, subresource="status")

    async def _set_finalizers(self, cluster: dict[str, Any], finalizers: list[str]) -> None:
        await self._patch_cluster(cluster, {"metadata": {"finalizers": finalizers}})

    async def _patch_cluster(self, cluster: dict[str, Any], body: dict[str, Any], subresource: str = "") -> None:
        meta = cluster["metadata"]
        seen = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        body = {**body, "metadata": {**body.get("metadata", {}), **seen}}
        resource = self.client.resource(dict, self.KIND.gvr, kind=self.KIND.kind)
        with suppress(NotFound):
            await resource.patch(meta["name"], body, NAMESPACE, patch_type=PatchType.MERGE, subresource=subresource)


class World(Protocol):
    """What a user needs of a world."""

    @property
    def client(self) -> Client: ...

    async def settled(self) -> None: ...

    async def sleep(self, seconds: float) -> None: ...

    def assert_always(self, check: Callable[[Any], object]) -> object: ...


class User:
    """
    Somebody who asks for custom resources, and waits after each wish until everybody has done what there was to do.

    Nothing goes wrong for a user.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    async def define(self, definition: dict[str, Any]) -> None:
        await self._world.client.resource(dict, DEFINITIONS).create(definition)

    async def create(self, obj: dict[str, Any]) -> None:
        group, _, _ = obj["apiVersion"].partition("/")
        await self._resource(Kind(group, obj["kind"])).create(obj)
        await self._world.settled()

    async def change(self, kind: Kind, name: str, **spec: Any) -> None:
        await self._resource(kind).patch(name, {"spec": spec}, NAMESPACE, patch_type=PatchType.MERGE)
        await self._world.settled()

    async def change_in_passing(self, kind: Kind, name: str, **spec: Any) -> None:
        """As :meth:`change`, and wait for half a second only."""
        await self._resource(kind).patch(name, {"spec": spec}, NAMESPACE, patch_type=PatchType.MERGE)
        await self._world.sleep(0.5)

    async def try_to_change(self, kind: Kind, name: str, **spec: Any) -> None:
        """As :meth:`change`. What the API server refuses is left as it is."""
        with suppress(Invalid):
            await self.change(kind, name, **spec)

    async def delete(self, kind: Kind, name: str) -> None:
        await self._resource(kind).delete(name, NAMESPACE)
        await self._world.settled()

    def always(self, check: Callable[[Any], object]) -> None:
        """Have something checked after each write."""
        self._world.assert_always(check)

    def _resource(self, kind: Kind) -> Resource[dict[str, Any]]:
        return self._world.client.resource(dict, kind.gvr, kind=kind.kind)


@dataclass(frozen=True, slots=True)
class Bug:
    """
    One of the bugs.

    :param issue: the public report: repository and number
    :param pattern: what has to go wrong for it to show
    :param found_by: the kind of fault that shows it
    :param says: what the failure's text says of what has happened
    :param broken: the operator that has it
    :param mended: the one that has not
    :param scenario: what users do, and what must hold all the time
    :param may_differ: fields that may be others at the end, as in :class:`kinformer.simulation.Checks`
    """

    issue: str
    pattern: str
    broken: type[Operator]
    mended: type[Operator]
    scenario: Callable[[User], Awaitable[None]]
    found_by: str
    says: str
    may_differ: Sequence[str] = ()

    def __str__(self) -> str:
        return self.issue.partition("/")[2].replace("#", "-")


def _has(obj: Any, labels: Mapping[str, str]) -> bool:
    return labels.items() <= (obj.metadata.labels or {}).items()


def _cluster_of(obj: Any) -> tuple[str, ...]:
    name = (obj.metadata.labels or {}).get("cluster")
    return (f"{NAMESPACE}/{name}",) if name else ()
