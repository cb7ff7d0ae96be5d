"""Catching up: how a feed of a cache comes to show a version of the server.

A feed is as new as a version when it has received an event or a bookmark of at least that version. If objects of a
kind do not change, no event comes, and a bookmark comes only once a minute. In that case the server is asked, in two
requests. The first is a list of one object: it makes the server's watch cache come up to date and returns its version.
The second is a watch of one second that starts at the feed's version: it shows the events that the feed has not
received yet. The feed is up to date when it has received the last of these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import anyio

from kinformer.cache.feeds import Feed
from kinformer.cache.listwatch import ListerWatcher, beside
from kinformer.client.errors import ClientError
from kinformer.client.types import BOOKMARK, ListOptions
from kinformer.clock import Clock, move_on_after
from kinformer.logs import get_logger
from kinformer.meta import accessor_of, is_older
from kinformer.tasks import plain_task_group

__all__ = (
    "CATCH_UP_TIMEOUT",
    "CacheBehind",
    "CatchUps",
    "catch_up",
    "catch_up_with_server",
    "has_reached",
    "look_until",
    "wait_for_version",
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


def has_reached(feed: Feed[Any], resource_version: str) -> bool:
    """Whether the cache shows everything of a feed up to a version."""
    come_to = feed.last_sync_resource_version
    if not come_to or not feed.has_synced or feed.queued:
        return False
    return come_to == resource_version or (
        come_to.isdecimal() and resource_version.isdecimal() and not is_older(come_to, resource_version)
    )


async def wait_for_version(
    feeds: Sequence[Feed[Any]], resource_version: str, timeout: float | None, clock: Clock
) -> None:
    """
    Wait until an informer shows a write of its own kind. The server is not asked: the write's event is on its way.

    It is asked only if there are several feeds, because the write may be of another feed's namespace.

    :param feeds: the informer's feeds, or only those of the write's namespace if it is known
    :param timeout: seconds; :data:`CATCH_UP_TIMEOUT` if None
    :raises CacheBehind: if it does not come to that version in time
    """
    seconds = CATCH_UP_TIMEOUT if timeout is None else timeout
    with move_on_after(clock, seconds) as waiting:
        if len(feeds) == 1:
            await _reach(feeds[0], {resource_version}, clock)
        else:
            async with plain_task_group() as tasks:
                for feed in feeds:
                    tasks.start_soon(catch_up, feed, resource_version, clock)
    if waiting.cancelled_caught:
        late = ", that of informer ".join(
            f"{feed.name} is at version {feed.last_sync_resource_version or 'none'}"
            for feed in feeds
            if not has_reached(feed, resource_version)
        )
        raise CacheBehind(f"the cache of informer {late} after {seconds:g} s: want {resource_version}")


async def catch_up(feed: Feed[Any], version: str, clock: Clock) -> None:
    """Return once a feed shows a version, or everything that came before it. The server is asked if need be."""
    #: The versions of which one must be reached: the given one, or that of the last change before it.
    enough = {version}
    lister_watcher = beside(feed.lister_watcher)

    async def ask() -> None:
        await clock.sleep(_ON_ITS_WAY)
        while True:
            here = feed.last_sync_resource_version
            try:
                # This version can always be compared: it is of this resource. The claim's may be of another resource.
                newest = (await lister_watcher.list(ListOptions(limit=1))).resource_version
                enough.add(newest)
                enough.add(await _last_change(lister_watcher, here, newest))
                return
            except ClientError as error:
                # One reason is that the server has forgotten that version. Then the informer is about to list again.
                log.debug("cache_not_compared", informer=feed.name, error=str(error))
                await clock.sleep(_ASK_AGAIN)

    async with plain_task_group() as tasks:
        tasks.start_soon(ask, name=f"informer {feed.name} is compared")
        await _reach(feed, enough, clock)
        tasks.cancel_scope.cancel()


async def catch_up_with_server(feed: Feed[Any], clock: Clock) -> None:
    """Return once a feed shows what the server has now. It is current then, unless its watch broke meanwhile."""
    breaks = feed.contact.breaks
    await catch_up(feed, "", clock)
    feed.contact.mended(breaks)


class CatchUps:
    """The feeds that began with a snapshot, and may not have caught up with the server yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._feeds: set[Feed[Any]] = set()
        self._lock = anyio.Lock()

    def __bool__(self) -> bool:
        return bool(self._feeds)

    def add(self, feed: Feed[Any]) -> None:
        self._feeds.add(feed)

    async def catch_up(self) -> None:
        """Return once each of these feeds has shown what the server had at some time since it was added."""
        if not self._feeds:
            return
        async with self._lock, plain_task_group() as tasks:
            for feed in tuple(self._feeds):
                tasks.start_soon(self._follow_up, feed, name=f"informer {feed.name} catches up")

    async def _follow_up(self, feed: Feed[Any]) -> None:
        await catch_up_with_server(feed, self._clock)
        self._feeds.discard(feed)


async def look_until(reached: Callable[[], bool], clock: Clock) -> None:
    """Look at a cache again and again, and return once it has reached something."""
    wait = _LOOK_AGAIN
    while not reached():
        await clock.sleep(wait)
        wait = min(2 * wait, _LOOK_AGAIN_MAX)


async def _reach(feed: Feed[Any], versions: Collection[str], clock: Clock) -> None:
    """Return once a feed has reached one of some versions; others may add more versions meanwhile."""
    await look_until(lambda: any(has_reached(feed, version) for version in versions), clock)


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
