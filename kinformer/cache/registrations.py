"""Registrations: the event handlers of one informer, from the moment when they are added.

A handler is first called for every object that is in the cache, and then for every change. It is called later if the
informer holds its handlers, or if the handler resumes from an earlier run and the first list is not there yet.

The resync periods are settled here, because each handler's period depends on those of the others: the informer checks
as often as the shortest of them wants. Once it runs, that cannot be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, Generic, TypeVar

from kinformer.cache.processor import SYNCED, ProcessorListener, SharedProcessor
from kinformer.cache.starting import SyncGate
from kinformer.logs import get_logger

__all__ = ("Registrations",)

T = TypeVar("T")

log = get_logger(__name__)

#: Seconds. A shorter period is raised to this: the informer would do little but resync.
MINIMUM_RESYNC_PERIOD: Final = 1.0


class Registrations(Generic[T]):
    """
    The listeners of one informer: those of its processor, and those that are not called yet.

    :param informer: the informer's name
    :param resync_period: the period of handlers that do not ask for another one
    :param synced: the informer's gate
    :param is_started: whether the informer runs, or has run
    :param there: the objects in the cache that have changed since a version; all of them if it is empty
    """

    def __init__(
        self,
        informer: str,
        processor: SharedProcessor[T],
        resync_period: float,
        *,
        synced: SyncGate,
        is_started: Callable[[], bool],
        there: Callable[[str], Collection[T]],
    ) -> None:
        self._informer = informer
        self._processor = processor
        self._default_resync_period = resync_period
        #: Seconds between two checks of whose resync is due.
        self.check_period = resync_period
        self._synced = synced
        self._is_started = is_started
        self._there = there
        #: Handlers that are held; None while handlers are not held.
        self._held: list[ProcessorListener[T]] | None = None
        #: Handlers that resume from an earlier run. They wait for the first list, which shows what has changed since.
        self._resuming: list[ProcessorListener[T]] = []

    def _waiting(self) -> Iterator[ProcessorListener[T]]:
        yield from self._held or ()
        yield from self._resuming

    def add(self, listener: ProcessorListener[T]) -> None:
        """Call a handler from now on, or as soon as handlers are released."""
        if self._held is None:
            self._tell(listener)
        else:
            self._held.append(listener)

    def _tell(self, listener: ProcessorListener[T]) -> None:
        if listener.since and not self._synced.synced:
            self._resuming.append(listener)
            return
        # No change can come in between: this function does not await, and neither does the processing of a change.
        if objects := self._there(listener.since):
            listener.tell_of_all(objects)
        if self._synced.synced:
            listener.pending.append((SYNCED, None, None))
        self._processor.add(listener)

    def hold(self) -> None:
        """Do not call handlers that are added from now on, until :meth:`release`."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Call the held handlers for everything, as if they were added now. Without held handlers, do nothing."""
        held, self._held = self._held, None
        for listener in held or ():
            self._tell(listener)

    def resume(self) -> None:
        """Call the handlers that resume: the informer has synced."""
        resuming, self._resuming = self._resuming, []
        for listener in resuming:
            self._tell(listener)

    def remove(self, listener: ProcessorListener[T]) -> None:
        """Do not call this handler again. A second removal has no effect."""
        for waiting in (self._held or [], self._resuming):
            if listener in waiting:
                waiting.remove(listener)
                listener.remove()
        self._processor.remove(listener)

    def close(self) -> None:
        """Remove all handlers: the informer has ended. Callers that wait for one of them get an error."""
        self._processor.stop()
        for listener in self._waiting():
            listener.remove()

    # --- resync periods

    def settle_resync_period(self, asked: float | None) -> tuple[float, float]:
        """
        Settle the period of a new handler. Before the informer runs, its check period is shortened if necessary.

        :param asked: seconds; None for the informer's own period, 0 for never
        :return: the period to remember as the handler's wish, and the one that is possible now
        """
        wish = self._possible(self._default_resync_period if asked is None else asked)
        return wish, self._effective(wish)

    def _possible(self, asked: float) -> float:
        if asked <= 0:
            return 0.0
        if asked < MINIMUM_RESYNC_PERIOD:
            log.warning("resync_period_raised", informer=self._informer, asked=asked, got=MINIMUM_RESYNC_PERIOD)
            asked = MINIMUM_RESYNC_PERIOD
        if asked < self.check_period:
            if self._is_started():
                log.warning("resync_period_raised", informer=self._informer, asked=asked, got=self.check_period)
                return self.check_period
            self.check_period = asked
            for listener in (*self._processor, *self._waiting()):
                listener.resync_period = self._effective(listener.requested_resync_period)
        return asked

    def _effective(self, wish: float) -> float:
        if wish == 0 or self.check_period == 0:
            if wish:
                hint = "give the informer, or its factory, a resync_period"
                log.warning("resync_not_supported", informer=self._informer, asked=wish, hint=hint)
            return 0.0
        return max(wish, self.check_period)
