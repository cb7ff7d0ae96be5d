"""The ``sync`` function of a controller: its type, what it may return, and what it may raise."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from kinformer.arguments import want, want_function, want_limiter
from kinformer.backoff import jittered
from kinformer.client.errors import ClientError

__all__ = (
    "AnswerError",
    "NotAsync",
    "Requeue",
    "RequeueAfter",
    "Sync",
    "SyncError",
    "SyncTimeout",
    "TerminalError",
    "check_limits",
    "check_sync",
    "is_of_the_world",
    "seconds_of",
)

#: The longest time that a sync may ask for, in seconds: Go's longest, some 292 years.
_LONGEST = 2**63 / 1e9

#: The time after which a key is synced again: seconds, a timedelta or a :class:`RequeueAfter`. None: when something
#: changes.
Requeue: TypeAlias = "float | timedelta | RequeueAfter | None"

#: Brings the object of a key to its desired state. Returns after which time to sync the key again, or None.
Sync = Callable[[str], Awaitable[Requeue]]


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """
    Returned by a sync to be called again after a time with random jitter.

    With jitter, a thousand objects that were synced at the same time are not synced at the same time again.

    :param seconds: the shortest time, in seconds or as a timedelta
    :param jitter: the largest share of `seconds` that is added at random: 0.1 for up to a tenth more
    """

    seconds: float | timedelta
    jitter: float = 0.1


class SyncError(Exception):
    """
    Raised by a sync that cannot succeed now. It is tried again, and logged without a traceback.

    The client's errors are logged without a traceback, too. Any other exception counts as a bug and is logged with one.
    """


class TerminalError(SyncError):
    """
    Raised by a sync that cannot succeed before the object changes, for example because its spec is not valid.

    The key is not tried again by itself. The error is logged, counted, and shown as the key's last error. It is
    controller-runtime's ``TerminalError``.
    """


class SyncTimeout(SyncError):
    """
    A sync took longer than its controller's time limit and was cancelled. It is tried again.

    :param seconds: the time limit
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the sync took longer than {seconds:g} s and was cancelled")


class NotAsync(TypeError):
    """
    A controller's sync is a plain function. It would block the event loop while it runs, and it cannot await the
    client.

    :param name: the name of the controller
    :param sync: the function
    """

    def __init__(self, name: str, sync: object) -> None:
        super().__init__(
            f"the sync of controller {name}, {getattr(sync, '__qualname__', repr(sync))}, is not async: "
            "want `async def` (or, for a function that returns a coroutine, inspect.markcoroutinefunction)"
        )


class AnswerError(TypeError):
    """
    A sync returned a value that is not a time, or a negative time.

    :param name: the name of the controller
    :param answer: the value
    :ivar what: the type of the value, or the value itself if it is a number, a timedelta or a RequeueAfter
    """

    def __init__(self, name: str, answer: object) -> None:
        self.what = repr(answer) if type(answer) in (bool, float) else type(answer).__name__
        if isinstance(answer, int) and answer.bit_length() > 64:
            self.what = "a very large int"  # Python refuses to write out integers of thousands of digits
        elif isinstance(answer, (int, timedelta, RequeueAfter)):
            self.what = repr(answer)
        super().__init__(
            f"the sync of controller {name} returned {self.what}: "
            "want None, or seconds, a timedelta or a RequeueAfter, after which to sync the key again"
        )


def check_sync(name: str, sync: Sync) -> None:
    """
    Check that a function is async and takes a key, as far as this can be seen without a call.

    :raises NotAsync: if `sync` is certainly a plain function
    :raises TypeError: if it certainly takes other arguments
    """
    function: Any = sync
    while isinstance(function, functools.partial):
        function = function.func
    # A lambda, a decorator's wrapper or a callable object may return an awaitable. That is seen when it is called.
    plain = inspect.isfunction(function) or inspect.ismethod(function)
    certain = plain and not hasattr(function, "__wrapped__") and function.__name__ != "<lambda>"
    if certain and not inspect.iscoroutinefunction(function):
        raise NotAsync(name, sync)
    want_function(sync, 1, f"the sync of controller {name}", "async def sync(key)")


def check_limits(name: str, limits: Mapping[Any, Any] | None) -> None:
    """
    Check the limiters of single classes of errors.

    :raises TypeError: if this is no mapping from classes of errors to limiters
    """
    instead = "a dict of limiters by class, as in {Conflict: ItemExponentialFailureRateLimiter(0.1, 5.0)}"
    want(limits, limits is None or isinstance(limits, Mapping), f"limits of controller {name}", instead)
    for error, limiter in (limits or {}).items():
        is_error = isinstance(error, type) and issubclass(error, BaseException)
        want(error, is_error, f"a key of limits of controller {name}", "a class of errors, such as Conflict")
        want_limiter(limiter, f"a value of limits of controller {name}")


def seconds_of(name: str, answer: object) -> float | None:
    """
    After how many seconds to sync the key again; None: do not sync it again. Zero means the same as None, as in
    controller-runtime: a sync that is always done again at once would take the whole process.

    :param name: the name of the controller
    :param answer: what its sync returned
    :raises AnswerError: if this is not a time, or is negative
    """
    if answer is None:
        return None
    after: object = answer.seconds if isinstance(answer, RequeueAfter) else answer
    seconds = after.total_seconds() if isinstance(after, timedelta) else after
    # The comparison is false for NaN, and exact for integers that are too large for a float.
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 <= seconds <= _LONGEST:
        raise AnswerError(name, answer)
    if isinstance(answer, RequeueAfter):
        if not isinstance(answer.jitter, (int, float)) or not abs(answer.jitter) <= _LONGEST:
            raise AnswerError(name, answer)
        seconds = jittered(seconds, answer.jitter)
    return seconds or None


def is_of_the_world(error: BaseException) -> bool:
    """Whether an error comes from outside (the server or the network), not from a bug. A group must have only such."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_of_the_world, error.exceptions))
    return isinstance(error, (SyncError, ClientError, NotAsync))
