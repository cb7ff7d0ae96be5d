"""Waiting in tests: until something is true, and while a manager runs.

A test says what is to hold, as assertions, and :func:`eventually` tries until they do. It sleeps for nobody: with a
:class:`~kinformer.clock.FakeClock` it turns the clock to what is due next, and an hour passes in milliseconds::

    async with running(Manager(client, known={"webapp": make_controller})):
        await client.resource(WebApp).create(...)

        async def is_ready() -> None:
            app = await client.resource(WebApp).get("shop", "default")
            assert app.status is not None and app.status.ready_replicas == 2

        await eventually(is_ready)
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeVar, overload

import anyio

from kinformer.clock import FakeClock

__all__ = ("eventually", "quiet", "running", "turn")

T = TypeVar("T")

#: How often in a row nobody may have had anything to do: what one socket was given the next has by then.
_STILL: Final = 50

#: How many of the different outcomes of a check a failure shows.
_SHOWN: Final = 4

#: Seconds between two tries, where time passes by itself.
_PAUSE: Final = 0.005


class Runs(Protocol):
    """A :class:`~kinformer.manager.Manager`, a :class:`~kinformer.manager.Controller`, a server of webhooks."""

    async def run(self) -> None:
        """Work until cancelled."""


R = TypeVar("R", bound=Runs)


@asynccontextmanager
async def running(what: R) -> AsyncIterator[R]:
    """
    Run a manager, or anything else that has a `run`, for as long as the body does.

    What it raises ends the body, and is raised as it is.
    """
    from kinformer.cache.tasks import plain_task_group  # the server alone needs no caches

    async with plain_task_group() as tasks:
        tasks.start_soon(what.run)
        yield what
        tasks.cancel_scope.cancel()


@overload
async def eventually(
    check: Callable[[], Awaitable[T]], *, seconds: float = 10.0, clock: FakeClock | None = None
) -> T: ...


@overload
async def eventually(check: Callable[[], T], *, seconds: float = 10.0, clock: FakeClock | None = None) -> T: ...


async def eventually(check: Callable[[], Any], *, seconds: float = 10.0, clock: FakeClock | None = None) -> Any:
    """
    Call `check` again and again until it neither fails nor says no, and return what it returns.

    It fails by an AssertionError, or by :exc:`~kinformer.client.NotFound`: what it looks for is not there yet. It says
    no by anything false except None, which is what a function of assertions returns. Any other exception is raised at
    once.

    :param check: a function or a coroutine function
    :param seconds: how long to try, by `clock` or else by real time
    :param clock: is turned to what is due next after each try, when nobody has anything left to do. It has to be the
        clock of whatever is waited for
    :raises AssertionError: if the time is over; its text has what the check failed with or returned, the last time
        and before, and its cause is the last failure
    """
    from kinformer.client import NotFound

    now = clock.monotonic if clock is not None else time.monotonic
    began = now()
    end = began + seconds
    seen = _Seen()
    while True:
        if clock is not None:
            await quiet()
        failure: Exception | None = None
        found: object = None
        try:
            answer = check()
            found = await answer if isinstance(answer, Awaitable) else answer
            if found is None or found:
                return found
        except (AssertionError, NotFound) as error:
            failure = error
        outcome = f"it returned {found!r}" if failure is None else str(failure) or "an assertion failed"
        seen.note(now() - began, outcome)
        wait = _PAUSE if clock is None else clock.next_due
        if wait is None or now() + wait > end:
            why = f"nothing is due any more after {seconds - (end - now()):g} s" if wait is None else f"{seconds:g} s"
            name = getattr(check, "__name__", repr(check))
            raise AssertionError(f"{name} has not come true ({why}); the last time: {seen}") from failure
        if clock is None:
            await anyio.sleep(wait)
        else:
            clock.turn(wait)


class _Seen:
    """What a check came to: the last outcome, and the last ones before it that were different."""

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
    Return once nobody in this loop has anything left to do, requests and answers through its own sockets included.

    Only one task of a loop may wait for that at a time. On event loops other than asyncio's own it waits a few
    milliseconds instead.
    """
    # Whoever has become ready since this task last ran, by a callback or by bytes that have arrived, stands behind it.
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
    Let so many seconds pass on a clock that server, client and controllers of this loop share.

    After whatever falls due in these seconds, it waits until nobody has anything left to do. So a test goes on when
    everything has happened that happens in this time.
    """
    await quiet()
    end = clock.monotonic() + seconds
    while (wait := clock.next_due) is not None and clock.monotonic() + wait <= end:
        clock.turn(wait)
        await quiet()
    clock.turn(end - clock.monotonic())
