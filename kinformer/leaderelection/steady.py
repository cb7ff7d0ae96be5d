"""The time by which a lease is held: one that nobody can set, and that goes on while the machine sleeps.

Linux' monotonic clock stands still while a machine is suspended. A leader on it would wake up and take its lease for
fresh, hours after somebody else took over. ``CLOCK_BOOTTIME`` counts that time, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kinformer.clock import Clock, RealClock

__all__ = ("steady_time",)


def steady_time(clock: Clock) -> Callable[[], float]:
    """Where to read seconds that never go back: for the machine's own clock those that it slept are in them."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    if not isinstance(clock, RealClock) or boot_time is None:
        return clock.monotonic
    return lambda: time.clock_gettime(boot_time)
