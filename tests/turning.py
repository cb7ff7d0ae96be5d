"""Turning a clock that server, client and controllers of one event loop share: no test waits for real.

The loop tells when nobody has anything left to do; then the clock is turned to whatever is due next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from kinformer.clock import Clock, FakeClock

__all__ = ("eventually", "quiet", "turn")

#: How often in a row nobody may have had anything to do: what one socket was given the next has by then.
_STILL: Final = 50


async def turn(clock: FakeClock, seconds: float) -> None:
    """Let so many seconds pass, and after whatever falls due in them wait until nobody has anything left to do."""
    await quiet()
    end = clock.monotonic() + seconds
    while (wait := clock.next_due) is not None and clock.monotonic() + wait <= end:
        clock.turn(wait)
        await quiet()
    clock.turn(end - clock.monotonic())


async def quiet() -> None:
    """
    Return once nobody in this loop has anything left to do, requests and answers through its own sockets included.

    Only one task of a loop may wait for that at a time.
    """
    # Whoever has become ready since this task last ran, by a callback or by bytes that have arrived, stands behind it.
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # asyncio's own loop, as in FakeClock
    still = 0
    while still < _STILL:
        await asyncio.sleep(0)
        still = 0 if ready else still + 1


async def eventually(true: Callable[[], Awaitable[object] | object], clock: Clock, seconds: float = 600.0) -> None:
    """
    Turn a clock, which must be a :class:`FakeClock`, until something is true.

    :param seconds: of the clock, after which it is given up
    """
    assert isinstance(clock, FakeClock)
    end = clock.monotonic() + seconds
    while True:
        await quiet()
        found = true()
        if isinstance(found, Awaitable):
            found = await found
        if found:
            return
        wait = clock.next_due
        assert wait is not None, "it never comes true"
        assert clock.monotonic() + wait <= end, f"it has not come true after {seconds} s"
        clock.turn(wait)
