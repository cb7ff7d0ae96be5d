"""Waiting in tests, for a condition to become true, and while a manager runs.

A test states the condition as assertions. :func:`eventually` tries them until they hold. With a
:class:`~kinformer.clock.FakeClock` it does not sleep. It turns the clock to the next timer, so an hour passes in
milliseconds::

    async with running(Manager(client, known={"webapp": make_controller})):
        await client.resource(WebApp).create(...)

        async def is_ready() -> None:
            app = await client.resource(WebApp).get("shop", "default")
            assert app.status is not None and app.status.ready_replicas == 2

        await eventually(is_ready)
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeVar, overload

import anyio

from kinformer.clock import FakeClock
from kinformer.logs import get_logger, typed_error_text

__all__ = ("eventually", "quiet", "running", "turn")

log = get_logger(__name__)

T = TypeVar("T")

#: The number of turns of the event loop in a row in which no task was ready. After that, bytes that were sent over one
#: socket have reached the next.
_STILL: Final = 50

#: The number of different outcomes of a check that a failure shows.
_SHOWN: Final = 4

#: Seconds between two tries with a real clock.
_PAUSE: Final = 0.005


class Runs(Protocol):
    """A :class:`~kinformer.manager.Manager`, a :class:`~kinformer.manager.Controller`, a server of webhooks."""

    async def run(self) -> None:
        """Work until cancelled."""


R = TypeVar("R", bound=Runs)


@asynccontextmanager
async def running(what: R) -> AsyncIterator[R]:
    """
    Run a manager, or another object with a method `run`, while the body runs.

    If it raises, this is logged as an error, the body is cancelled, and the same exception is raised. If the body is a
    fixture's, the test's runner may show only that the test was cancelled. Then the log has the reason.
    """
    from kinformer.tasks import plain_task_group  # the server alone needs no caches

    async def run() -> None:
        try:
            await what.run()
        except Exception as error:
            log.error("running_failed", what=type(what).__name__, error=typed_error_text(error))
            raise

    async with plain_task_group() as tasks:
        tasks.start_soon(run)
        yield what
        tasks.cancel_scope.cancel()


@overload
async def eventually(
    check: Callable[[], Awaitable[T]], *, seconds: float = 60.0, clock: FakeClock | None = None
) -> T: ...


@overload
async def eventually(check: Callable[[], T], *, seconds: float = 60.0, clock: FakeClock | None = None) -> T: ...


async def eventually(check: Callable[[], Any], *, seconds: float = 60.0, clock: FakeClock | None = None) -> Any:
    """
    Call `check` again and again until it succeeds, and return what it returns.

    It fails if it raises an AssertionError or :exc:`~kinformer.client.NotFound`, or returns a false value other than
    None. (None is what a function of assertions returns.) It also fails if it reads what is not there yet: an attribute
    of None (``found.status.conditions``), or an item of a list or dict that lacks it; and if nothing is raised within
    ``pytest.raises``. Any other exception is raised at once.

    :param check: a function or a coroutine function
    :param seconds: how long to try, by `clock` or else by real time
    :param clock: after each failure it is turned to the next timer, once no task has anything left to do. It must be
        the clock of the code that is waited for
    :raises AssertionError: if the time is over. The message has the last failure and those before it; the cause is the
        last failure
    """
    now = clock.monotonic if clock is not None else time.monotonic
    began = now()
    end = began + seconds
    seen = _Seen()
    while True:
        if clock is not None:
            await quiet()
        failure: BaseException | None = None
        found: object = None
        try:
            answer = check()
            found = await answer if isinstance(answer, Awaitable) else answer
            if found is None or found:
                return found
        except BaseException as error:
            if not _may_come_true(error):
                raise
            failure = error
        outcome = f"it returned {found!r}" if failure is None else _text_of(failure)
        seen.note(now() - began, outcome)
        wait = _PAUSE if clock is None else clock.next_due
        if wait is None or now() + wait > end:
            why = f"no timer is left after {seconds - (end - now()):g} s" if wait is None else f"{seconds:g} s"
            name = getattr(check, "__name__", repr(check))
            raise AssertionError(f"{name} has not come true ({why}); the last time: {seen}") from failure
        if clock is None:
            await anyio.sleep(wait)
        else:
            clock.turn(wait)


def _may_come_true(error: BaseException) -> bool:
    """Whether an exception says that something is not there yet, and not that the check is wrong."""
    from kinformer.client import NotFound

    if isinstance(error, AttributeError):
        return error.obj is None  # of anything else, the name is misspelt
    pytest = sys.modules.get("pytest")  # its pytest.raises() raises no AssertionError
    failed = (AssertionError, NotFound, LookupError, *(() if pytest is None else (pytest.fail.Exception,)))
    return isinstance(error, failed)


def _text_of(failure: BaseException) -> str:
    if isinstance(failure, (AttributeError, LookupError)):
        return f"{type(failure).__name__}: {failure}"
    return str(failure) or "an assertion failed"


class _Seen:
    """The outcomes of a check: the last one, and the last different ones before it."""

    def __init__(self) -> None:
        self._outcomes: deque[tuple[float, str]] = deque(maxlen=_SHOWN)

    def note(self, seconds: float, outcome: str) -> None:
        if self._outcomes and self._outcomes[-1][1] == outcome:
            self._outcomes.pop()
        self._outcomes.append((seconds, outcome))

    def __str__(self) -> str:
        *before, (_, last) = self._outcomes
        return "\n".join([last, *(f"before that, until {seconds:.3g} s: {text}" for seconds, text in reversed(before))])


async def quiet() -> None:
    """
    Return once no task of this event loop has anything left to do, including requests over the process's own sockets.

    Only one task of a loop may wait for this at a time. On event loops other than asyncio's own, it waits a few
    milliseconds instead.
    """
    # The tasks that became ready since this task last ran, by a callback or by bytes that arrived, are queued after it.
    ready = getattr(asyncio.get_running_loop(), "_ready", None)
    if ready is None:
        await anyio.sleep(_PAUSE)
        return
    still = 0
    while still < _STILL:
        await asyncio.sleep(0)
        still = 0 if ready else still + 1


async def turn(clock: FakeClock, seconds: float) -> None:
    """
    Let this many seconds pass on a clock that the server, the client and the controllers of this loop share.

    After each timer, it waits until no task has anything left to do. So when it returns, everything has happened that
    happens in this time.
    """
    await quiet()
    end = clock.monotonic() + seconds
    while (wait := clock.next_due) is not None and clock.monotonic() + wait <= end:
        clock.turn(wait)
        await quiet()
    clock.turn(end - clock.monotonic())
