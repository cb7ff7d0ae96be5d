"""Waiting until caches have synced. Logs and errors name the caches that are late."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from kinformer.clock import Clock, RealClock, Timer, move_on_after
from kinformer.logs import get_logger

__all__ = ("CacheNotSynced", "HasSynced", "wait_for_cache_sync")

log = get_logger(__name__)

#: Seconds until the first log line about caches that have not synced yet, and the most seconds between two of them.
_REMIND, _SELDOM = 10.0, 300.0


class CacheNotSynced(TimeoutError):
    """
    Some caches did not sync in time.

    :ivar late: the names of these caches
    :ivar failures: by the names of caches, the errors of their last lists or watches
    """

    def __init__(self, late: tuple[str, ...], seconds: float, failures: Mapping[str, Exception] = MappingProxyType({})):
        shown = ", ".join(f"{name} ({failures[name]})" if name in failures else name for name in late)
        super().__init__(f"not synced after {seconds:g} seconds: {shown}")
        self.late = late
        self.failures = failures


class HasSynced(Protocol):
    """Something that syncs at some time: an informer, or one handler's registration with it."""

    @property
    def name(self) -> str:
        """The name in logs and errors."""

    @property
    def has_synced(self) -> bool:
        """Whether it has synced."""

    async def wait_synced(self) -> None:
        """
        Return once it has synced.

        :raises InformerStateError: if it stopped before it had synced
        """


async def wait_for_cache_sync(*caches: HasSynced, timeout: float | None = None, clock: Clock | None = None) -> None:
    """
    Wait until all caches have synced. The log names those that are late: after ten seconds, then less and less often.

    :param timeout: seconds after which to give up; None for never
    :raises InformerStateError: if one of them stopped before it had synced
    :raises CacheNotSynced: if some have not synced when the time is over; the error names them, and says why
        their last lists or watches failed
    """
    clock = clock or RealClock()

    def late() -> tuple[str, ...]:
        return tuple(cache.name for cache in caches if not cache.has_synced)

    reminder: Timer
    wait = _REMIND

    def remind() -> None:
        nonlocal reminder, wait
        log.info("waiting_for_cache_sync", late=late())
        wait = min(wait * 2, _SELDOM)
        reminder = clock.call_later(wait, remind)

    reminder = clock.call_later(wait, remind)
    with move_on_after(clock, timeout):
        try:
            for cache in caches:
                await cache.wait_synced()
        finally:
            reminder.cancel()
    if missing := late():
        failures = {cache.name: failure for cache in caches if (failure := getattr(cache, "failure", None)) is not None}
        raise CacheNotSynced(missing, timeout or 0.0, failures)
