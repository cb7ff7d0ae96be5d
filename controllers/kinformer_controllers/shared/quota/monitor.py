"""The quota monitor: an event handler and an evaluator for every kind of object that a namespace can have.

It repeats discovery. So a custom resource can be limited soon after its definition is created, and a kind that is gone
is no longer watched. If a controller already watches a kind's whole objects, its informer is used. Of all other kinds
only the metadata is watched, which is enough for counting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kinformer.cache import ResourceEventHandler, SharedIndexInformer
from kinformer.client import Client, Resource, Served
from kinformer.client.discovery import ApiResource
from kinformer.clock import Clock, RealClock
from kinformer.deletion.heads import Head
from kinformer.informers import Borrowed, SharedInformerFactory
from kinformer.meta import GroupResource
from kinformer.models import PartialObjectMetadata, ResourceV1ResourceClaim
from kinformer_controllers.shared.kinds import DISCOVERY_PERIOD, Follower, KindMonitor, kinds_with, metadata_informer
from kinformer_controllers.shared.quota.counting import device_claim_evaluator, object_count_evaluator
from kinformer_controllers.shared.quota.evaluator import Evaluator
from kinformer_controllers.shared.quota.registry import ALWAYS_THERE, IGNORED_RESOURCES, MODELS, WHOLE, Registry
from kinformer_controllers.shared.quota.sources import ClientSource, InformerSource, ObjectSource

__all__ = ("DISCOVERY_PERIOD", "HandlerOf", "QuotaMonitor", "quotable_resources")

#: Returns the event handler for the objects of a resource.
HandlerOf = Callable[[GroupResource], ResourceEventHandler[Any]]

_VERBS: Final = frozenset({"create", "list", "watch", "delete"})


def quotable_resources(served: Served) -> dict[GroupResource, ApiResource]:
    """Return the resources that a quota can limit: namespaced ones with the verbs create, list, watch and delete."""
    return {
        resource: kind
        for resource, kind in kinds_with(served, _VERBS).items()
        if kind.namespaced and resource not in IGNORED_RESOURCES
    }


class QuotaMonitor(KindMonitor):
    """
    Follows every quotable kind.

    :param registry: gets an evaluator, which lists from a cache, for each kind that it has none for
    :param live: gets an evaluator that lists from the server for the same kinds
    :param handler_of: returns the event handler for a resource's objects
    :param resource_found: called with each resource once it can be counted
    :param with_labels: whether labels of objects are needed
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        registry: Registry,
        handler_of: HandlerOf,
        *,
        live: Registry | None = None,
        resource_found: Callable[[GroupResource], object] = lambda _: None,
        with_labels: bool = False,
        clock: Clock | None = None,
    ) -> None:
        follower = _QuotaFollower(client, informers, registry, handler_of, live, resource_found, with_labels)
        super().__init__("quota", client, follower, clock=clock or RealClock())

    def objects(self, resource: GroupResource) -> Resource[Any]:
        """
        Return the client's access to the metadata of a resource's objects.

        :raises LookupError: if the resource is not followed
        """
        followed = self._followed.get(resource)
        if followed is None:
            raise LookupError(f"{resource} is not followed: discovery has not found it, or no quota can limit it")
        return self._client.resource(PartialObjectMetadata, followed.kind.gvr, namespaced=True, metadata_only=True)


class _QuotaFollower(Follower):
    """Adds an evaluator for each kind that a quota can limit, and removes it when the kind is gone."""

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        registry: Registry,
        handler_of: HandlerOf,
        live: Registry | None,
        resource_found: Callable[[GroupResource], object],
        with_labels: bool,
    ) -> None:
        self._client = client
        self._informers = informers
        self._registry = registry
        self._live = live
        self._handler_of = handler_of
        self._resource_found = resource_found
        self._with_labels = with_labels

    def choose(self, served: Served) -> Mapping[GroupResource, ApiResource]:
        return quotable_resources(served)

    def informer_of(self, kind: ApiResource) -> Borrowed:
        resource = kind.gvr.group_resource
        if resource in WHOLE and kind.gvr not in self._informers.informers:
            self._informers.informer_for(MODELS[resource])
        return metadata_informer(self._informers, kind, by_namespace=True, with_labels=self._with_labels)

    def handler_of(self, kind: ApiResource, informer: SharedIndexInformer[Any]) -> ResourceEventHandler[Any]:
        resource = kind.gvr.group_resource
        if resource not in WHOLE:
            # Counting the devices of a ResourceClaim needs the whole object. If the server's version of it has no model
            # here, only the claims are counted.
            is_whole = informer.type is ResourceV1ResourceClaim
            self._registry.add(_evaluator(resource, InformerSource(informer), is_whole))
            if self._live is not None:
                self._live.add(_evaluator(resource, ClientSource(self._objects(kind, is_whole)), is_whole))
        return self._handler_of(resource)

    def found(self, kind: ApiResource) -> None:
        self._resource_found(kind.gvr.group_resource)

    def lost(self, kind: ApiResource) -> None:
        resource = kind.gvr.group_resource
        if resource not in ALWAYS_THERE:
            self._registry.remove(resource)
            if self._live is not None:
                self._live.remove(resource)

    def _objects(self, kind: ApiResource, whole: bool) -> Resource[Any]:
        if whole:
            return self._client.resource(ResourceV1ResourceClaim, kind.gvr)
        return self._client.resource(Head, kind.gvr, namespaced=True, metadata_only=True)


def _evaluator(resource: GroupResource, source: ObjectSource, is_whole: bool) -> Evaluator:
    return device_claim_evaluator(source) if is_whole else object_count_evaluator(resource, source)
