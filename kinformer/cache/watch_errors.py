"""Errors of lists and watches, as a Reflector treats them: which to retry, after what delay, and how to log them."""

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
from kinformer.logs import get_logger, traceback_text, typed_error_text

__all__ = (
    "ListNotStored",
    "RetryWithDeadline",
    "StreamingListCut",
    "UnexpectedError",
    "VeryShortWatch",
    "WatchErrorHandler",
    "WatchWentBack",
    "default_watch_error_handler",
    "delay_of",
    "is_retriable",
)

log = get_logger(__name__)

#: Called with the reflector's name and the error whenever a list or a watch fails. It should return quickly.
WatchErrorHandler: TypeAlias = Callable[[str, ClientError], None]


class VeryShortWatch(ClientError):
    """A watch ended within a second and without an event. Something between here and the server cuts it."""

    def __init__(self, name: str):
        super().__init__(f"very short watch: {name}: it lasted less than a second and no items were received")


class WatchWentBack(ClientError):
    """
    A watch sent an event that is older than what it had sent before. The server has an error.

    Other events may be missing, so everything is listed again.
    """

    def __init__(self, name: str, version: str, reached: str):
        super().__init__(f"watch of {name}: an event of version {version} came after version {reached}")


class StreamingListCut(ClientError):
    """A streaming list ended several times in a row before the bookmark that marks its end."""

    def __init__(self, name: str, tries: int):
        super().__init__(f"streaming list of {name}: it was cut before its end, {tries} times in a row")


class UnexpectedError(ClientError):
    """
    A list, a watch or a decoder raised an error that no client raises.

    That exception is the cause of this one. The reflector tries again, as after any failure.
    """

    def __init__(self, name: str, error: BaseException):
        super().__init__(f"list and watch of {name} raised {typed_error_text(error)}")


class ListNotStored(ClientError):
    """
    The list from the server could not be stored: a transformer or a key function failed.

    Its exception is the cause of this one. The list is tried again after the usual wait.
    """

    def __init__(self, name: str, error: Exception):
        super().__init__(f"unable to sync list result: {name}: {typed_error_text(error)}")


def default_watch_error_handler(name: str, error: ClientError) -> None:
    """Log the error, at a level that fits it."""
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

    If a server refuses connections or throttles requests, it can most likely continue the watch later. A new list of
    everything would only add to its load.
    """
    return isinstance(error, TooManyRequests) or is_connection_refused(error)


class RetryWithDeadline:
    """
    Decides whether a failed watch is opened again. It is, for a limited time since the first failure in a row.

    :param max_duration: seconds since the first failure in a row, for which to try again; 0 for never
    :param forget_after: seconds without a failure, after which the next failure starts a new row
    """

    __slots__ = ("_clock", "_first", "_forget_after", "_last", "_max_duration")

    def __init__(self, clock: Clock, max_duration: float, forget_after: float = 60.0):
        self._clock = clock
        self._max_duration = max_duration
        self._forget_after = forget_after
        self._first: float | None = None
        self._last: float | None = None

    def failed(self) -> bool:
        """Note a failure. Return whether to try again."""
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
    """Seconds to wait: the backoff, or what the server asked for if that is longer."""
    return max(backoff, suggested_delay(error) or 0.0)
