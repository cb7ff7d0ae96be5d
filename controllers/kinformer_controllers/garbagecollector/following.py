"""Watching every kind that can be deleted, listed and watched. The metadata of its objects goes into the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kinformer.cache import ResourceEventHandler, SharedIndexInformer, last_state
from kinformer.client import Served
from kinformer.client.discovery import ApiResource
from kinformer.deletion.graph import Graph, Kind
from kinformer.deletion.heads import head_reader
from kinformer.informers import Borrowed, SharedInformerFactory
from kinformer.meta import GroupResource
from kinformer_controllers.garbagecollector.cached import CachedHeads
from kinformer_controllers.garbagecollector.metrics import RESOURCES_SYNC_ERRORS
from kinformer_controllers.shared.kinds.informers import metadata_informer
from kinformer_controllers.shared.kinds.monitor import Follower, kinds_with

__all__ = ("IGNORED_RESOURCES", "GraphFeeder", "GraphFollower", "is_followed")

#: Events are ignored: they are by far the most objects, and they neither own objects nor have owners.
IGNORED_RESOURCES: Final = frozenset({GroupResource("", "events"), GroupResource("events.k8s.io", "events")})

_VERBS: Final = frozenset({"delete", "list", "watch"})


def is_followed(resource: GroupResource) -> bool:
    """Whether objects of this kind should be in the graph."""
    return resource not in IGNORED_RESOURCES


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
        RESOURCES_SYNC_ERRORS.inc()


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
