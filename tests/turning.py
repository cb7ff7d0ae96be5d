"""Turning a clock that server, client and controllers of one event loop share: no test waits for real.

The loop tells when nobody has anything left to do; then the clock is turned to whatever is due next.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kinformer.clock import Clock, FakeClock
from kinformer.envtest import waiting
from kinformer.envtest.waiting import quiet, turn

__all__ = ("eventually", "quiet", "turn")


async def eventually(true: Callable[[], Awaitable[object] | object], clock: Clock, seconds: float = 600.0) -> None:
    """
    Turn a clock, which must be a :class:`FakeClock`, until something is true.

    :param seconds: of the clock, after which it is given up
    """
    assert isinstance(clock, FakeClock)

    async def holds() -> bool:
        found = true()
        return bool(await found if isinstance(found, Awaitable) else found)

    await waiting.eventually(holds, seconds=seconds, clock=clock)
