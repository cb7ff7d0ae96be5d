"""Turning a clock that server, client and controllers of one event loop share: no test waits for real.

The loop tells when nobody has anything left to do; then the clock is turned to whatever is due next.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kinformer.clock import Clock, FakeClock
from kinformer.envtest.waiting import quiet

__all__ = ("eventually", "quiet", "turn")


async def turn(clock: FakeClock, seconds: float) -> None:
    """Let so many seconds pass, and after whatever falls due in them wait until nobody has anything left to do."""
    await quiet()
    end = clock.monotonic() + seconds
    while (wait := clock.next_due) is not None and clock.monotonic() + wait <= end:
        clock.turn(wait)
        await quiet()
    clock.turn(end - clock.monotonic())


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
