"""What a controller takes for its ``sync``, what one may answer, and what it may raise."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kinformer.backoff import jittered
from kinformer.client.errors import ClientError

__all__ = (
    "AnswerError",
    "NotAsync",
    "RequeueAfter",
    "Sync",
    "SyncError",
    "SyncTimeout",
    "TerminalError",
    "check_async",
    "error_text",
    "is_of_the_world",
    "seconds_of",
)

#: Brings one object, by its key, to where it should be. Returns after how long to look again, or None.
Sync = Callable[[str], Awaitable["float | timedelta | RequeueAfter | None"]]


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """
    What a sync returns to be called again after some time, a little different each time.

    So a thousand objects that were looked at together are not looked at together again.

    :param seconds: the least
    :param jitter: the largest share of it that chance adds: 0.1 for up to a tenth more
    """

    seconds: float
    jitter: float = 0.1


class SyncError(Exception):
    """
    What a sync raises when the world is not ready for it: it will be tried again, and no traceback would tell more.

    The client's errors are logged without a traceback, too; any other exception is taken for a mistake of the code.
    """


class TerminalError(SyncError):
    """
    What a sync raises when trying again does not help before the object changes: its spec is wrong, say.

    The key is not tried again by itself. It is logged, counted, and shown as the key's last error
    (controller-runtime's ``TerminalError``).
    """


class SyncTimeout(SyncError):
    """
    A sync took longer than its controller lets it, and was cancelled. It is tried again.

    :param seconds: how long it was let
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the sync took longer than {seconds:g} s and was cancelled")


class NotAsync(TypeError):
    """
    A controller's sync is a plain function: it would block everything while it runs, and cannot await the client.

    :param name: the controller
    """

    def __init__(self, name: str, sync: object) -> None:
        super().__init__(
            f"the sync of controller {name}, {getattr(sync, '__qualname__', repr(sync))}, is not async: "
            "want `async def` (or, for a function that returns a coroutine, inspect.markcoroutinefunction)"
        )


class AnswerError(TypeError):
    """
    A sync returned something that is no time.

    :param name: the controller
    :ivar what: what it was: a type's name, or a number that is no time
    """

    def __init__(self, name: str, answer: object) -> None:
        self.what = repr(answer) if type(answer) in (bool, float) else type(answer).__name__
        super().__init__(
            f"the sync of controller {name} returned {self.what}: "
            "want None, or seconds, a timedelta or a RequeueAfter, after which to sync the key again"
        )


def check_async(name: str, sync: Sync) -> None:
    """
    :raises NotAsync: if `sync` is a function that gives nothing to await, as far as can be seen without calling it
    """
    function: Any = sync
    while isinstance(function, functools.partial):
        function = function.func
    # What a lambda, a decorator's wrapper or an object gives is seen when it is called.
    plain = inspect.isfunction(function) or inspect.ismethod(function)
    certain = plain and not hasattr(function, "__wrapped__") and function.__name__ != "<lambda>"
    if certain and not inspect.iscoroutinefunction(function):
        raise NotAsync(name, sync)


def seconds_of(name: str, answer: object) -> float | None:
    """
    After how many seconds to sync again, by what the sync of controller `name` returned; None for not at all.

    :raises AnswerError: if it returned no time
    """
    if answer is None:
        return None
    if isinstance(answer, timedelta):
        return answer.total_seconds()
    if isinstance(answer, RequeueAfter):
        return jittered(answer.seconds, answer.jitter)
    if isinstance(answer, (int, float)) and not isinstance(answer, bool) and math.isfinite(answer):
        return answer
    raise AnswerError(name, answer)


def is_of_the_world(error: BaseException) -> bool:
    """Whether the server, the line or another controller is at fault rather than the code; of a group, all of it."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_of_the_world, error.exceptions))
    return isinstance(error, (SyncError, ClientError, NotAsync))


def error_text(error: BaseException) -> str:
    """What an exception says, or its name if it says nothing; of a group, what each says."""
    if isinstance(error, BaseExceptionGroup):
        return f"{error.message}: {'; '.join(map(error_text, error.exceptions))}"
    return str(error) or repr(error)
