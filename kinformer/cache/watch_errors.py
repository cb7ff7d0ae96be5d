"""What a Reflector makes of the errors of lists and watches: which to wait out, which to tell, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kinformer.client.errors import (
    ClientError,
    ConnectionLost,
    TooManyRequests,
    is_connection_refused,
    is_expired,
    suggested_delay,
)
from kinformer.clock import Clock
from kinformer.logs import get_logger, traceback_text

__all__ = (
    "ListNotStored",
    "RetryWithDeadline",
    "StreamingListCut",
    "UnexpectedError",
    "VeryShortWatch",
    "WatchErrorHandler",
    "default_watch_error_handler",
    "delay_of",
    "is_retriable",
)

log = get_logger(__name__)

#: Called with the reflector's name and the error whenever list-and-watch fails; it should return quickly.
WatchErrorHandler: TypeAlias = Callable[[str, ClientError], None]


class VeryShortWatch(ClientError):
    """A watch ended within a second and without one event: something between here and the server cuts it."""

    def __init__(self, name: str):
        super().__init__(f"very short watch: {name}: it lasted less than a second and no items were received")


class StreamingListCut(ClientError):
    """A streaming list ended, several times in a row, before the bookmark that says that it is complete."""

    def __init__(self, name: str, tries: int):
        super().__init__(f"streaming list of {name}: it was cut before its end {tries} times in a row")


class UnexpectedError(ClientError):
    """
    A list, a watch, or the decoding of what came raised something that no client raises.

    That exception is the cause. It is tried again like any failure.
    """

    def __init__(self, name: str, error: BaseException):
        super().__init__(f"list and watch of {name} raised {type(error).__name__}: {error}")


class ListNotStored(ClientError):
    """
    The server gave a list, but it could not be put into the store: a transformer or a key function failed.

    The exception that said so is its cause. The list is tried again, after the usual wait.
    """

    def __init__(self, name: str, error: Exception):
        super().__init__(f"unable to sync list result: {name}: {type(error).__name__}: {error}")


def default_watch_error_handler(name: str, error: ClientError) -> None:
    """Log what happened, at the level that it deserves."""
    if is_expired(error):
        log.debug("watch_closed", reflector=name, error=str(error))
    elif isinstance(error, UnexpectedError):
        log.error("watch_failed", reflector=name, error=str(error), stack=traceback_text(error.__cause__))
    elif isinstance(error, ConnectionLost):
        log.info("watch_broke", reflector=name, error=str(error))
    else:
        log.error("watch_failed", reflector=name, error=str(error))


def is_retriable(error: ClientError) -> bool:
    """
    Whether to open the same watch again after a wait, without a new list.

    A server that refuses connections or is throttling will most likely be able to go on where the watch ended; a
    list of everything is the last thing that it needs.
    """
    return isinstance(error, TooManyRequests) or is_connection_refused(error)


class RetryWithDeadline:
    """
    Whether a watch that fails again and again may still be opened again: for so long since it began to fail.

    :param max_duration: seconds of going on; 0 for never
    :param forget_after: seconds after which a further failure is the first of a new row
    """

    __slots__ = ("_clock", "_first", "_forget_after", "_last", "_max_duration")

    def __init__(self, clock: Clock, max_duration: float, forget_after: float = 60.0):
        self._clock = clock
        self._max_duration = max_duration
        self._forget_after = forget_after
        self._first: float | None = None
        self._last: float | None = None

    def failed(self) -> bool:
        """Take note of a failure; whether to go on all the same."""
        now = self._clock.monotonic()
        if self._last is None or now - self._last >= self._forget_after:
            self._first = None
        if self._first is None:
            self._first = now
        self._last = now
        if self._max_duration > 0 and now - self._first <= self._max_duration:
            return True
        self._first = self._last = None
        return False


def delay_of(error: ClientError, backoff: float) -> float:
    """Seconds to wait: what the server asked for where that is longer than the backoff."""
    return max(backoff, suggested_delay(error) or 0.0)
