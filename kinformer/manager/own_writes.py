"""OwnWrites: keys of a controller wait until its caches show what their last syncs wrote.

This is for ``Controller(..., consistent=True)``. :mod:`kinformer.cache.own_writes` says how writes are noted and
compared, and why.

A key that waits is looked at again when an event adds it to the queue, and by a timer: after 10 ms, and then each time
after twice the time, up to a second. The timer is for controllers whose handlers skip the events of their own writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer.cache.own_writes import GIVE_UP_AFTER, shows
from kinformer.client.writes import Writes
from kinformer.clock import Clock, Timer
from kinformer.logs import get_logger
from kinformer.meta import GroupResource

__all__ = ("OwnWrites",)

log = get_logger(__name__)

#: Seconds until a key that waits is looked at again, if no event adds it earlier.
_LOOK_AGAIN: Final = 0.01
_LOOK_AGAIN_MAX: Final = 1.0

#: When more keys than this have writes, the writes that the caches show by now are dropped. With each write, the whole
#: object in the server's answer is kept, and an EndpointSlice can have 100 KB.
_MANY: Final = 32


@dataclass(eq=False, slots=True)
class _LastWrites:
    """
    The writes of the last sync of a key.

    :param since: the time when that sync ended
    :param timer: adds the key to the queue; None if no sync of it had to wait
    """

    writes: Writes
    since: float
    timer: Timer | None = None


class OwnWrites:
    """
    :param informers: returns the informers whose caches the syncs read
    :param add: adds a key to the queue
    :param on_stale: called with the resource of a cache that is behind, each time when a sync is put off
    """

    def __init__(
        self,
        informers: Callable[[], Iterable[SharedIndexInformer[Any]]],
        add: Callable[[str], object],
        clock: Clock,
        on_stale: Callable[[GroupResource], object] | None = None,
    ) -> None:
        self._informers = informers
        self._add = add
        self._clock = clock
        self._on_stale = on_stale
        self._last: dict[str, _LastWrites] = {}
        self._many = _MANY

    def remember(self, key: str, writes: Writes) -> None:
        """Remember the writes of a sync that has ended."""
        if writes:
            self._last[key] = _LastWrites(writes, self._clock.monotonic())
            if len(self._last) > self._many:
                self._drop_unneeded()

    def must_wait(self, key: str) -> bool:
        """Whether a cache does not show yet what the last sync of a key wrote. If so, the key is added again later."""
        last = self._last.get(key)
        if last is None:
            return False
        if last.timer is not None:
            last.timer.cancel()
        behind = self._behind(last)
        waited = self._clock.monotonic() - last.since
        if behind and waited < GIVE_UP_AFTER:
            if self._on_stale is not None and behind[0].resource is not None:
                self._on_stale(behind[0].resource.group_resource)
            last.timer = self._clock.call_later(min(max(waited, _LOOK_AGAIN), _LOOK_AGAIN_MAX), lambda: self._add(key))
            return True
        if behind:
            late = sorted(informer.name for informer in behind)
            log.warning("caches_may_be_old", key=key, late=late, waited=GIVE_UP_AFTER)
        del self._last[key]
        return False

    def close(self) -> None:
        """Forget all writes, and stop the timers."""
        for last in self._last.values():
            if last.timer is not None:
                last.timer.cancel()
        self._last.clear()

    def _behind(self, last: _LastWrites) -> list[SharedIndexInformer[Any]]:
        return [informer for informer in self._informers() if not shows(informer, last.writes)]

    def _drop_unneeded(self) -> None:
        """Drop what the caches show. A key that is never synced again would keep its writes for ever."""
        self._last = {key: last for key, last in self._last.items() if last.timer is not None or self._behind(last)}
        self._many = max(_MANY, 2 * len(self._last))
