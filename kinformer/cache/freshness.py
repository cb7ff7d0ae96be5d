"""Waiting until caches are as new as a write: for a process that takes over the work of another.

A process that has just got a Lease, or a range of keys, may have a cache that does not show the last writes of the
process before it. It would then do some of the work again. So it waits before its first sync::

    late = await wait_until_as_new_as(informers, claim.metadata.resource_version)

An informer is as new as a version when it has received an event or a bookmark of at least that version. If objects of a
kind do not change, no event comes, and a bookmark comes only once a minute. In that case the server is asked, in two
requests. The first is a list of one object: it makes the server's watch cache come up to date and returns its version.
The second is a watch of one second that starts at the informer's version: it shows the events that the informer has not
received yet. The informer is up to date when it has received the last of these.

An informer of several namespaces has a feed for each of them, and each feed reaches a version by itself. Only the feed
of a write's own namespace gets the event of that write. So give the namespace if you know it.

:func:`wait_until_current` waits for caches that are known to be behind because their watch broke. It is for callers who
delete something because of what a cache does not show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio

from kinformer.cache.feeds import Feed
from kinformer.cache.listwatch import ListerWatcher
from kinformer.cache.shared_informer import InformerStateError, SharedIndexInformer
from kinformer.cache.tasks import plain_task_group
from kinformer.client.errors import ClientError
from kinformer.client.types import BOOKMARK, ListOptions
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.meta import accessor_of, is_older

__all__ = (
    "CATCH_UP_TIMEOUT",
    "CacheBehind",
    "is_as_new_as",
    "wait_for_version",
    "wait_until_as_new_as",
    "wait_until_current",
    "wait_until_each_is_as_new_as",
)

log = get_logger(__name__)

#: Seconds after which a waiting caller goes on with the caches as they are.
CATCH_UP_TIMEOUT: Final = 10.0

#: Seconds between two checks of an informer: short at first, because the event of a write is usually on its way.
_LOOK_AGAIN: Final = 0.005
_LOOK_AGAIN_MAX: Final = 0.1
#: Seconds to wait for events that are on their way, before the server is asked.
_ON_ITS_WAY: Final = 0.05
#: Seconds between two attempts to ask the server.
_ASK_AGAIN: Final = 0.25


class CacheBehind(Exception):
    """A cache did not reach a version in time."""


def is_as_new_as(informer: SharedIndexInformer[Any], resource_version: str, namespace: str = "") -> bool:
    """
    Whether the informer has synced and its cache shows everything up to that version.

    :param namespace: look only at the objects of this namespace; empty for all. An informer that has no objects of it
        has nothing to show, and the answer is True
    """
    return informer.is_started and all(_has_reached(feed, resource_version) for feed in informer.feeds.of(namespace))


def _has_reached(feed: Feed[Any], resource_version: str) -> bool:
    come_to = feed.last_sync_resource_version
    if not come_to or not feed.has_synced or feed.queued:
        return False
    return come_to == resource_version or (
        come_to.isdecimal() and resource_version.isdecimal() and not is_older(come_to, resource_version)
    )


async def wait_for_version(
    informer: SharedIndexInformer[Any], resource_version: str, namespace: str, timeout: float | None, clock: Clock
) -> None:
    """
    Wait until an informer shows a write of its own kind. The server is not asked: the write's event is on its way.

    It is asked only if the informer has several namespaces and `namespace` is empty.

    :param timeout: seconds; :data:`CATCH_UP_TIMEOUT` if None
    :raises CacheBehind: if it does not come to that version in time
    """
    seconds = CATCH_UP_TIMEOUT if timeout is None else timeout
    feeds = informer.feeds.of(namespace)
    with anyio.CancelScope() as waiting:
        deadline = clock.call_later(seconds, waiting.cancel)
        try:
            if len(feeds) == 1:
                await _reach(feeds[0], {resource_version}, clock)
            else:
                async with plain_task_group() as tasks:
                    for feed in feeds:
                        tasks.start_soon(_catch_up, feed, resource_version, clock)
        finally:
            deadline.cancel()
    if waiting.cancelled_caught:
        late = ", that of informer ".join(
            f"{feed.name} is at version {feed.last_sync_resource_version or 'none'}"
            for feed in feeds
            if not _has_reached(feed, resource_version)
        )
        raise CacheBehind(f"the cache of informer {late} after {seconds:g} s: want {resource_version}")


async def wait_until_as_new_as(
    informers: Iterable[SharedIndexInformer[Any]],
    resource_version: str,
    *,
    timeout: float = CATCH_UP_TIMEOUT,
    clock: Clock | None = None,
) -> tuple[str, ...]:
    """
    Wait until each informer shows everything that was written before a version.

    Informers that were not started are skipped, because their first list is still to come. For each informer whose kind
    has not changed since, this costs a list of one object and a watch of one second.

    :param resource_version: the version of a write that came after all the writes to be seen, such as the claim of a
        Lease
    :param timeout: seconds after which to return all the same; the log then names the informers that are late
    :return: the names of the informers that are late: their caches may be older
    """
    versions = dict.fromkeys(informers, resource_version)
    return await wait_until_each_is_as_new_as(versions, timeout=timeout, clock=clock)


async def wait_until_each_is_as_new_as(
    versions: Mapping[SharedIndexInformer[Any], str],
    *,
    timeout: float = CATCH_UP_TIMEOUT,
    clock: Clock | None = None,
) -> tuple[str, ...]:
    """
    :func:`wait_until_as_new_as`, with a version for each informer.

    There is no watch of a second where the version is that of a write of the informer's own kind: its event is on its
    way.
    """
    clock = clock or RealClock()
    late = {
        feed: (informer, version)
        for informer, version in versions.items()
        for feed in informer.feeds
        if not _has_reached(feed, version)
    }
    if not late:
        return ()

    async def catch_up(feed: Feed[Any], informer: SharedIndexInformer[Any], version: str) -> None:
        with suppress(InformerStateError):  # the informer has ended; its users get that error from it
            await informer.wait_synced()
            await _catch_up(feed, version, clock)
        del late[feed]

    with anyio.CancelScope() as waiting:
        deadline = clock.call_later(timeout, waiting.cancel)
        try:
            async with plain_task_group() as tasks:
                for feed, (informer, version) in tuple(late.items()):
                    tasks.start_soon(catch_up, feed, informer, version, name=f"informer {feed.name} catches up")
        finally:
            deadline.cancel()
    names = tuple(sorted(feed.name for feed in late))
    if names:
        log.warning("caches_may_be_old", late=names, waited=timeout)
    return names


async def wait_until_current(
    informers: Iterable[SharedIndexInformer[Any]], *, timeout: float = CATCH_UP_TIMEOUT, clock: Clock | None = None
) -> tuple[str, ...]:
    """
    Wait until each informer :attr:`is current <.SharedIndexInformer.is_current>`. Call it before a destructive step.

    After an outage the caches are old for a moment. A sign of life that they lack may have come during the outage::

        if late := await wait_until_current([leases], timeout=5):
            return  # it is not known who is alive

    No request is made for an informer that is current. For each of the others, this costs a list of one object and a
    watch of one second, and the informer must then receive what the server has.

    :param timeout: seconds after which to return all the same
    :return: the names of the informers that are late: do not act on what their caches lack
    """
    clock = clock or RealClock()
    every = tuple(informers)

    async def catch_up(feed: Feed[Any]) -> None:
        while not feed.is_current:
            breaks = feed.controller.breaks
            await _catch_up(feed, "", clock)
            feed.controller.mended(breaks)

    behind = [feed for informer in every for feed in informer.feeds if not feed.is_current]
    if behind:
        with anyio.CancelScope() as waiting:
            deadline = clock.call_later(timeout, waiting.cancel)
            try:
                async with plain_task_group() as tasks:
                    for feed in behind:
                        tasks.start_soon(catch_up, feed, name=f"informer {feed.name} catches up")
            finally:
                deadline.cancel()
    return tuple(sorted(informer.name for informer in every if not informer.is_current))


async def _catch_up(feed: Feed[Any], version: str, clock: Clock) -> None:
    #: The versions of which one must be reached: the given one, or that of the last change before it.
    enough = {version}

    async def ask() -> None:
        await clock.sleep(_ON_ITS_WAY)
        while True:
            here = feed.last_sync_resource_version
            try:
                # This version can always be compared: it is of this resource. The claim's may be of another resource.
                newest = (await feed.lister_watcher.list(ListOptions(limit=1))).resource_version
                enough.add(newest)
                enough.add(await _last_change(feed.lister_watcher, here, newest))
                return
            except ClientError as error:
                # One reason is that the server has forgotten that version. Then the informer is about to list again.
                log.debug("cache_not_compared", informer=feed.name, error=str(error))
                await clock.sleep(_ASK_AGAIN)

    async with plain_task_group() as tasks:
        tasks.start_soon(ask, name=f"informer {feed.name} is compared")
        await _reach(feed, enough, clock)
        tasks.cancel_scope.cancel()


async def _reach(feed: Feed[Any], versions: Collection[str], clock: Clock) -> None:
    """Return once a feed has reached one of some versions; others may add more versions meanwhile."""
    wait = _LOOK_AGAIN
    while not any(_has_reached(feed, version) for version in versions):
        await clock.sleep(wait)
        wait = min(2 * wait, _LOOK_AGAIN_MAX)


async def _last_change(lister_watcher: ListerWatcher[Any], since: str, until: str) -> str:
    """
    The version of the last change between two versions.

    :param since: the earlier version; it is returned if nothing has changed
    :param until: the later version
    :raises ClientError: if the watch fails
    """
    last = since
    options = ListOptions(resource_version=since, allow_watch_bookmarks=True, timeout_seconds=1)
    async with lister_watcher.watch(options) as batches:
        async for batch in batches:
            for event in batch:
                try:
                    version = accessor_of(event.object).resource_version(event.object)
                except (TypeError, AttributeError):
                    continue  # the object does not decode; the informer leaves it out as well
                if event.type != BOOKMARK:
                    last = version
                if not is_older(version, until):
                    return last
    return last
