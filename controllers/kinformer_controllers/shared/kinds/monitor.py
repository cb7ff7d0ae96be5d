"""The kind monitor: a handler for every kind that discovery shows, as long as it shows it.

What kinds there are is asked again each 30 seconds. A kind that stays keeps its watch; a new one gets one; one that is
gone loses it. A group whose own server is away keeps the watches that it has, and a kind that is missing once keeps its
own until it is missing again: its server may be away for a moment without saying so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from kinformer.cache import CacheNotSynced, ResourceEventHandler, SharedIndexInformer, wait_for_cache_sync
from kinformer.client import Client, Served
from kinformer.client.discovery import ApiResource
from kinformer.client.errors import ClientError
from kinformer.clock import Clock, RealClock
from kinformer.informers import Borrowed
from kinformer.logs import get_logger
from kinformer.meta import GroupResource
from kinformer.workqueue import until

__all__ = ("DISCOVERY_PERIOD", "Follower", "KindMonitor", "kinds_with")

log = get_logger(__name__)

#: Seconds between two discoveries, as in kube-controller-manager.
DISCOVERY_PERIOD: Final = 30.0


def kinds_with(served: Served, verbs: Collection[str]) -> dict[GroupResource, ApiResource]:
    """What can be done all of this with, each at the version that its group prefers."""
    found: dict[GroupResource, ApiResource] = {}
    for resource in served.resources:
        if set(verbs).issubset(resource.verbs):
            found.setdefault(resource.gvr.group_resource, resource)
    return found


class Follower(ABC):
    """What somebody does about each kind."""

    @abstractmethod
    def choose(self, served: Served) -> Mapping[GroupResource, ApiResource]:
        """Which kinds are followed."""

    @abstractmethod
    def informer_of(self, kind: ApiResource) -> Borrowed:
        """The informer to follow a kind with."""

    @abstractmethod
    def handler_of(self, kind: ApiResource, informer: SharedIndexInformer[Any]) -> ResourceEventHandler[Any]:
        """What is told of a kind's objects from now on."""

    def found(self, kind: ApiResource) -> None:  # noqa: B027 - not everybody wants to know
        """A kind's objects are known."""

    def lost(self, kind: ApiResource) -> None:  # noqa: B027 - as above
        """A kind is followed no longer."""

    def failed(self) -> None:  # noqa: B027 - as above
        """A discovery failed, or not all objects were known in time."""


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

    :param name: what log lines call it
    :param period: seconds between two discoveries, and the longest that one waits for the objects that it has found
    """

    def __init__(
        self,
        name: str,
        client: Client,
        follower: Follower,
        *,
        period: float = DISCOVERY_PERIOD,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._follower = follower
        self._period = period
        self._clock = clock or RealClock()
        self._followed: dict[GroupResource, _Followed] = {}
        self._missed: set[GroupResource] = set()
        self._ready = anyio.Event()
        self._runs = False
        self._log = log.bind(monitor=name)

    @property
    def resources(self) -> list[GroupResource]:
        """What is followed."""
        return sorted(self._followed)

    @property
    def has_synced(self) -> bool:
        """Whether something is followed, and of all that is, the objects are known."""
        return bool(self._followed) and all(one.informer.has_synced for one in self._followed.values())

    @property
    def has_told(self) -> bool:
        """Whether the handlers have been told of all that the caches show."""
        return not any(one.registration.pending for one in self._followed.values())

    def informer(self, resource: GroupResource) -> SharedIndexInformer[Any] | None:
        """What a kind is followed with; None if it is not."""
        found = self._followed.get(resource)
        return found.informer if found is not None else None

    async def wait_synced(self) -> None:
        """Return when the first discovery is done and what it found is known, or has been waited for long enough."""
        await self._ready.wait()

    async def wait_told(self) -> None:
        """Return when the handlers of all kinds whose objects are known have been told of those."""
        for one in list(self._followed.values()):
            if one.informer.has_synced:
                await one.registration.wait_synced()

    async def run(self) -> None:
        """Follow what there is until cancelled."""
        self._runs = True
        try:
            await until(self._sync, self._period, clock=self._clock)
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
            await wait_for_cache_sync(*informers, timeout=self._period, clock=self._clock)
        except CacheNotSynced as error:
            self._log.warning("kinds_not_synced", error=str(error))
            self._follower.failed()
        for one in list(self._followed.values()):
            if one.informer.has_synced and not one.announced:
                one.announced = True
                self._follower.found(one.kind)
        self._ready.set()

    def follow(self, served: Served) -> None:
        """Follow the kinds that the follower chooses of these, and no others."""
        assert self._runs, "kinds are followed by run()"
        chosen = self._follower.choose(served)
        # A group without one of its versions may show a resource at another one, or leave it out.
        failed = {version.group for version in served.failed}
        chosen = {resource: kind for resource, kind in chosen.items() if resource.group not in failed}
        missing = {resource for resource in self._followed.keys() - chosen.keys() if resource.group not in failed}
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
