"""Watching every kind that can be deleted. The metadata of its objects goes into the graph.

The same caches answer questions about an object, so that the server need not be asked for each one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from prometheus_client import Counter

from kinformer.cache import ResourceEventHandler, SharedIndexInformer, last_state
from kinformer.client import Served
from kinformer.client.discovery import ApiResource
from kinformer.deletion.graph import Graph, Kind, Node
from kinformer.deletion.heads import Head, HeadMeta, Reference, head_reader
from kinformer.informers import Borrowed, SharedInformerFactory
from kinformer.meta import Accessor, GroupResource, accessor_for
from kinformer_controllers.shared.kinds import Follower, kinds_with, metadata_informer

__all__ = ("CachedHeads", "GraphFeeder", "GraphFollower", "is_followed")

_RESOURCES_SYNC_ERRORS: Final = Counter(
    "garbagecollector_controller_resources_sync_error", "Number of garbage collector resources sync errors"
)

#: Events are ignored: they are by far the most objects, and they neither own objects nor have owners.
_IGNORED_RESOURCES: Final = frozenset({GroupResource("", "events"), GroupResource("events.k8s.io", "events")})

_VERBS: Final = frozenset({"delete", "list", "watch"})


def is_followed(resource: GroupResource) -> bool:
    """Whether objects of this kind should be in the graph."""
    return resource not in _IGNORED_RESOURCES


class GraphFollower(Follower):
    """
    Watches kinds, and adds their objects to the graph.

    :param follows: selects the kinds
    """

    def __init__(
        self,
        informers: SharedInformerFactory,
        graph: Graph,
        cached: CachedHeads,
        follows: Callable[[GroupResource], bool] = is_followed,
    ) -> None:
        self._follows = follows
        self._informers = informers
        self._graph = graph
        self._cached = cached

    def choose(self, served: Served) -> Mapping[GroupResource, ApiResource]:
        chosen = kinds_with(served, _VERBS)
        return {resource: kind for resource, kind in chosen.items() if self._follows(resource)}

    def informer_of(self, kind: ApiResource) -> Borrowed:
        return metadata_informer(self._informers, kind)

    def handler_of(self, kind: ApiResource, informer: SharedIndexInformer[Any]) -> ResourceEventHandler[Any]:
        found = _kind_of(kind)
        self._cached.add(found, informer)
        return GraphFeeder(self._graph, found, informer.type)

    def lost(self, kind: ApiResource) -> None:
        # Its objects stay in the graph: they are still the owners of other objects.
        self._cached.remove(_kind_of(kind))

    def failed(self) -> None:
        _RESOURCES_SYNC_ERRORS.inc()


def _kind_of(kind: ApiResource) -> Kind:
    return Kind(kind.gvr.api_version, kind.kind)


class GraphFeeder:
    """
    The event handler for the objects of one kind. It adds them to the graph.

    :param type_: the type of the objects in the cache
    """

    __slots__ = ("_graph", "_kind", "_read", "_see")

    def __init__(self, graph: Graph, kind: Kind, type_: type[Any]) -> None:
        self._graph = graph
        self._kind = kind
        self._read = head_reader(type_)
        self._see = graph.see

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self._see(self._kind, *self._read(obj))

    def on_update(self, old: Any, new: Any, /) -> None:
        seen, before = self._read(new), self._read(old)
        if seen.uid != before.uid:
            # It was deleted and created again while the watch was broken. (Kubernetes' collector treats this as an
            # update.)
            self._graph.gone(self._kind, *before[:3])
        self._see(self._kind, *seen)

    def on_delete(self, obj: Any, /) -> None:
        obj = last_state(obj)
        if obj is not None:
            self._graph.gone(self._kind, *self._read(obj)[:3])


class CachedHeads:
    """The caches of the kinds that are followed."""

    def __init__(self) -> None:
        self._informers: dict[Kind, SharedIndexInformer[Any]] = {}

    def add(self, kind: Kind, informer: SharedIndexInformer[Any]) -> None:
        """Add the informer of a kind."""
        self._informers[kind] = informer

    def remove(self, kind: Kind) -> None:
        """Remove a kind that is no longer watched."""
        self._informers.pop(kind, None)

    def get(self, node: Node) -> HeadMeta | None:
        """Return the metadata of the object with this uid; None if no cache has it."""
        informer = self._informers.get(node.kind)
        if informer is None:
            return None
        obj = informer.indexer.get_by_key(f"{node.namespace}/{node.name}" if node.namespace else node.name)
        if obj is None:
            return None
        meta = obj.metadata if type(obj) is Head else _head_of(obj, accessor_for(informer.type))
        return meta if meta.uid == node.uid else None


def _head_of(obj: Any, accessor: Accessor[Any]) -> HeadMeta:
    being_deleted = accessor.is_being_deleted(obj)
    return HeadMeta(
        uid=accessor.uid(obj),
        name=accessor.name(obj),
        namespace=accessor.namespace(obj) or None,
        resource_version=accessor.resource_version(obj),
        owner_references=[_reference(one) for one in accessor.owner_references(obj)] or None,
        finalizers=list(accessor.finalizers(obj)) or None,
        deletion_timestamp=str(accessor.field(obj, "deletionTimestamp")) if being_deleted else None,
    )


def _reference(reference: Any) -> Reference:
    """Convert a model's owner reference, or a dict."""
    if isinstance(reference, dict):
        return Reference(
            reference.get("apiVersion", ""),
            reference.get("kind", ""),
            reference.get("name", ""),
            reference.get("uid", ""),
            reference.get("controller"),
            reference.get("blockOwnerDeletion"),
        )
    return Reference(
        reference.api_version,
        reference.kind,
        reference.name,
        reference.uid,
        reference.controller,
        reference.block_owner_deletion,
    )
