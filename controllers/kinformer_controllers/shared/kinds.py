"""Watching every kind that discovery finds, including custom resources, with an event handler for each.

Owner references and objects name a kind; requests need the resource, which :class:`KindMapper` finds in the last
discovery. :func:`metadata_informer` has the metadata of any kind; all its users in the process share it, such as the
garbage collector and the quota monitor. :class:`KindMonitor` repeats discovery every 30 seconds. A new kind gets a
watch. A kind that is gone loses its watch. If the discovery of one version of an API group fails, the watches of kinds
at that version stay, and the group's other versions are followed as usual. A kind that is missing from a successful
discovery keeps its watch until the next discovery misses it as well: its aggregated API server may be unavailable for a
moment without an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from kinformer.cache import (
    NAMESPACE_INDEX,
    CacheNotSynced,
    Indexers,
    ResourceEventHandler,
    SharedIndexInformer,
    namespace_index_func,
    wait_for_cache_sync,
    wait_until_current,
)
from kinformer.client import Client, NoKindMatch, Served
from kinformer.client.discovery import ApiResource
from kinformer.client.errors import ClientError, NotFound
from kinformer.clock import Clock, RealClock
from kinformer.deletion.heads import Head, compact, shows_heads
from kinformer.informers import Borrowed, SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.meta import GroupResource, GroupVersion, GroupVersionResource, accessor_for
from kinformer.models import PartialObjectMetadata, ResourceV1ResourceClaim, resource_for
from kinformer.workqueue import until

__all__ = (
    "DISCOVERY_PERIOD",
    "Follower",
    "KindMapper",
    "KindMonitor",
    "kinds_with",
    "metadata_informer",
)

log = get_logger(__name__)

#: The least number of seconds between two discoveries for unknown kinds.
_PATIENCE: Final = 5.0

#: Kinds of which some users need the whole objects. The informer of such a kind has them from the start, because its
#: first user does not know whether a later one will need them.
_WHOLE: Final[Mapping[GroupVersionResource, type[Any]]] = {
    resource_for(ResourceV1ResourceClaim).gvr: ResourceV1ResourceClaim
}

#: Seconds between two discoveries, as in kube-controller-manager.
DISCOVERY_PERIOD: Final = 30.0


class KindMapper:
    """Maps kinds to resources with the server's discovery."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        self._discovery = client.discovery
        self._clock = clock or RealClock()
        self._asked = float("-inf")
        self._known: Served | None = None
        self._by_kind: dict[tuple[str, str], ApiResource] = {}

    async def find(self, api_version: str, kind: str) -> ApiResource:
        """
        Return the resource of a kind.

        :param api_version: with the group, as in references: ``apps/v1``
        :raises NoKindMatch: if the last discovery does not have the kind
        :raises ClientError: if discovery failed
        """
        found = self._find(await self._discovery.served(), api_version, kind)
        if found is None and self._clock.monotonic() - self._asked >= _PATIENCE:
            self._asked = self._clock.monotonic()
            found = self._find(await self._discovery.served(refresh=True), api_version, kind)
        if found is None:
            raise NoKindMatch(f'no matches for kind "{kind}" in version "{api_version}"')
        return found

    def _find(self, served: Served, api_version: str, kind: str) -> ApiResource | None:
        if served is not self._known:
            self._known = served
            self._by_kind = {}
            for one in served.resources:
                version = str(GroupVersion(one.gvr.group, one.gvr.version))
                for name in (one.kind, one.kind.lower()):  # as in Kubernetes, references may have either
                    self._by_kind.setdefault((version, name), one)
        return self._by_kind.get((api_version, kind))


def metadata_informer(
    informers: SharedInformerFactory, kind: ApiResource, *, by_namespace: bool = False, with_labels: bool = False
) -> Borrowed:
    """
    Borrow the shared informer of a kind's metadata. The caller gives it back when it no longer needs it.

    :param by_namespace: whether the index by namespace is needed
    :param with_labels: whether labels are needed; a :class:`~kinformer.deletion.heads.Head` has none
    :raises RuntimeError: if the factory is not running
    """

    def indexers(type_: type[Any]) -> Indexers[Any]:
        return {NAMESPACE_INDEX: namespace_index_func(accessor_for(type_))} if by_namespace else {}

    if kind.gvr in _WHOLE and kind.gvr not in informers.informers:
        informers.informer_for(_WHOLE[kind.gvr])
    if with_labels:
        return informers.borrow(
            PartialObjectMetadata, kind.gvr, namespaced=kind.namespaced, will_do=shows_heads, indexers=indexers
        )
    return informers.borrow(
        Head, kind.gvr, namespaced=kind.namespaced, will_do=shows_heads, indexers=indexers, transform=compact
    )


def kinds_with(served: Served, verbs: Collection[str]) -> dict[GroupResource, ApiResource]:
    """
    Return the resources that support all these verbs, each at the version that its group prefers.

    A version whose discovery failed is left out: what it lists may be old. The group's next version is taken instead.
    """
    found: dict[GroupResource, ApiResource] = {}
    for resource in served.resources:
        if _version_of(resource) not in served.failed and set(verbs).issubset(resource.verbs):
            found.setdefault(resource.gvr.group_resource, resource)
    return found


def _version_of(kind: ApiResource) -> GroupVersion:
    return GroupVersion(kind.gvr.group, kind.gvr.version)


class Follower(ABC):
    """The user's side of a :class:`KindMonitor`: chooses kinds, and provides an informer and a handler for each."""

    @abstractmethod
    def choose(self, served: Served) -> Mapping[GroupResource, ApiResource]:
        """Return the kinds to follow."""

    @abstractmethod
    def informer_of(self, kind: ApiResource) -> Borrowed:
        """Return the informer of a kind."""

    @abstractmethod
    def handler_of(self, kind: ApiResource, informer: SharedIndexInformer[Any]) -> ResourceEventHandler[Any]:
        """Return the event handler that is added to a kind's informer."""

    def found(self, kind: ApiResource) -> None:  # noqa: B027 - optional to override
        """Called once when a kind's cache has synced."""

    def lost(self, kind: ApiResource) -> None:  # noqa: B027 - optional to override
        """Called when a kind is no longer followed."""

    def failed(self) -> None:  # noqa: B027 - optional to override
        """Called when a discovery failed, or when not all caches synced in time."""


@dataclass(eq=False, slots=True)
class _Followed:
    kind: ApiResource
    borrowed: Borrowed
    registration: Any
    announced: bool = field(default=False)

    @property
    def informer(self) -> SharedIndexInformer[Any]:
        return self.borrowed.informer


class KindMonitor:
    """
    Follows the kinds that its follower chooses.

    :param name: its name in log lines
    """

    def __init__(
        self,
        name: str,
        client: Client,
        follower: Follower,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._follower = follower
        self._clock = clock or RealClock()
        self._followed: dict[GroupResource, _Followed] = {}
        self._missed: set[GroupResource] = set()
        self._ready = anyio.Event()
        self._runs = False
        self._log = log.bind(monitor=name)

    @property
    def resources(self) -> list[GroupResource]:
        """The resources that are followed, sorted."""
        return sorted(self._followed)

    @property
    def has_synced(self) -> bool:
        """Whether at least one kind is followed and the caches of all followed kinds have synced."""
        return bool(self._followed) and all(one.informer.has_synced for one in self._followed.values())

    @property
    def untold(self) -> int:
        """Number of changes that the handlers have not been called for yet. It can be read in any thread."""
        return sum(one.registration.untold for one in tuple(self._followed.values()))

    @property
    def informers(self) -> list[SharedIndexInformer[Any]]:
        """The informers of the followed kinds whose caches have synced."""
        return [one.informer for one in self._followed.values() if one.informer.has_synced]

    async def wait_synced(self) -> None:
        """Wait until the first discovery has succeeded and its kinds' caches have synced, or `period` is over."""
        await self._ready.wait()

    async def wait_told(self) -> None:
        """Wait until the handlers of all kinds whose caches have synced have been called for the first list."""
        for one in list(self._followed.values()):
            if one.informer.has_synced:
                await one.registration.wait_synced()

    async def wait_current(self) -> tuple[str, ...]:
        """
        Wait until the caches of the followed kinds are current; see :func:`~kinformer.cache.wait_until_current`.

        A kind that is gone is not waited for: it has no objects, so its cache lacks none. It is still followed until
        the second discovery that misses it.

        :return: the names of the informers that are late
        """
        gone = await self._gone()
        return await wait_until_current([one for one in self.informers if one not in gone], clock=self._clock)

    async def _gone(self) -> list[SharedIndexInformer[Any]]:
        """The informers whose requests the server answers with 404, of kinds that discovery does not have either."""
        refused = [one for one in self._followed.values() if isinstance(one.informer.failure, NotFound)]
        gone: list[SharedIndexInformer[Any]] = []
        for refresh in (False, True):
            if len(gone) < len(refused):
                try:
                    served = await self._client.discovery.served(refresh=refresh)
                except ClientError:
                    return []
                there = {one.gvr for one in served.resources}
                gone = [
                    one.informer
                    for one in refused
                    if one.kind.gvr not in there and _version_of(one.kind) not in served.failed
                ]
        return gone

    async def run(self) -> None:
        """Follow the kinds until cancelled."""
        self._runs = True
        try:
            await until(self._sync, DISCOVERY_PERIOD, clock=self._clock)
        finally:
            self._runs = False
            for resource in list(self._followed):
                self._stop(resource)

    async def _sync(self) -> None:
        try:
            served = await self._client.discovery.served(refresh=True)
        except ClientError as error:
            self._log.warning("discovery_failed", error=str(error))
            self._follower.failed()
            return
        self.follow(served)
        informers = [one.informer for one in self._followed.values()]
        try:
            await wait_for_cache_sync(*informers, timeout=DISCOVERY_PERIOD, clock=self._clock)
        except CacheNotSynced as error:
            self._log.warning("kinds_not_synced", error=str(error))
            self._follower.failed()
        for one in list(self._followed.values()):
            if one.informer.has_synced and not one.announced:
                one.announced = True
                self._follower.found(one.kind)
        self._ready.set()

    def follow(self, served: Served) -> None:
        """Follow the kinds that the follower chooses from this discovery. Stop following the others."""
        assert self._runs, "kinds are followed by run()"
        chosen = dict(self._follower.choose(served))
        # As in Kubernetes: a version whose discovery failed keeps the watches that it has, if they have synced.
        for resource, one in self._followed.items():
            if _version_of(one.kind) in served.failed and one.informer.has_synced:
                chosen[resource] = one.kind
        missing = self._followed.keys() - chosen.keys()
        removed = missing & self._missed
        self._missed = missing - removed
        moved = {
            resource
            for resource, one in self._followed.items()
            if resource in chosen and chosen[resource].gvr != one.kind.gvr
        }
        for resource in removed | moved:
            self._stop(resource)
        added = chosen.keys() - self._followed.keys()
        for resource in sorted(added):
            self._start(chosen[resource])
        if added or removed:
            self._log.info("kinds_changed", added=sorted(map(str, added)), removed=sorted(map(str, removed)))

    def _start(self, kind: ApiResource) -> None:
        borrowed = self._follower.informer_of(kind)
        handler = self._follower.handler_of(kind, borrowed.informer)
        registration = borrowed.informer.add_event_handler(handler)
        self._followed[kind.gvr.group_resource] = _Followed(kind, borrowed, registration)

    def _stop(self, resource: GroupResource) -> None:
        one = self._followed.pop(resource)
        one.informer.remove_event_handler(one.registration)
        one.borrowed.give_back()
        self._follower.lost(one.kind)
