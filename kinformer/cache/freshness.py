"""Waiting until caches are as new as a write: for a process that takes over the work of another.

A process that has just got a Lease, or a range of keys, may have a cache that does not show the last writes of the
process before it. It would then do some of the work again. So it waits before its first sync::

    late = await wait_until_as_new_as(informers, claim.metadata.resource_version)

An informer of several namespaces has a feed for each of them, and each feed reaches a version by itself. Only the feed
of a write's own namespace gets the event of that write. So give the namespace if you know it.

:func:`wait_until_current` waits for caches that are known to be behind because their watch broke. It is for callers who
delete something because of what a cache does not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from kinformer.cache.catching_up import CATCH_UP_TIMEOUT, catch_up, catch_up_with_server, has_reached
from kinformer.cache.feeds import Feed
from kinformer.cache.shared_informer import SharedIndexInformer
from kinformer.cache.starting import InformerStateError
from kinformer.clock import Clock, RealClock, move_on_after
from kinformer.logs import get_logger
from kinformer.tasks import plain_task_group

__all__ = (
    "is_as_new_as",
    "wait_until_as_new_as",
    "wait_until_current",
    "wait_until_each_is_as_new_as",
)

log = get_logger(__name__)


def is_as_new_as(informer: SharedIndexInformer[Any], resource_version: str, namespace: str = "") -> bool:
    """
    Whether the informer has synced and its cache shows everything up to that version.

    :param namespace: look only at the objects of this namespace; empty for all. An informer that has no objects of it
        has nothing to show, and the answer is True
    """
    return informer.is_started and all(has_reached(feed, resource_version) for feed in informer.feeds.of(namespace))


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
        if not has_reached(feed, version)
    }
    if not late:
        return ()

    async def follow_up(feed: Feed[Any], informer: SharedIndexInformer[Any], version: str) -> None:
        with suppress(InformerStateError):  # the informer has ended; its users get that error from it
            await informer.wait_synced()
            await catch_up(feed, version, clock)
        del late[feed]

    with move_on_after(clock, timeout):
        async with plain_task_group() as tasks:
            for feed, (informer, version) in tuple(late.items()):
                tasks.start_soon(follow_up, feed, informer, version, name=f"informer {feed.name} catches up")
    # A cache without its first list is not old. Its users wait for the list, and it is logged why it does not come.
    if old := sorted(feed.name for feed in late if feed.has_synced):
        log.warning("caches_may_be_old", late=tuple(old), waited=timeout)
    return tuple(sorted(feed.name for feed in late))


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

    async def mend(feed: Feed[Any]) -> None:
        while not feed.is_current:
            await catch_up_with_server(feed, clock)

    behind = [feed for informer in every for feed in informer.feeds if not feed.is_current]
    if behind:
        with move_on_after(clock, timeout):
            async with plain_task_group() as tasks:
                for feed in behind:
                    tasks.start_soon(mend, feed, name=f"informer {feed.name} catches up")
    return tuple(sorted(informer.name for informer in every if not informer.is_current))
