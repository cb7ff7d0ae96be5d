"""The clock of leases: it cannot be set, and it goes on while the machine is suspended.

Linux's monotonic clock stops while a machine is suspended. With it, a leader could wake up and consider its lease
valid, hours after another process took over. ``CLOCK_BOOTTIME`` counts that time, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kinformer.clock import Clock, RealClock

__all__ = ("steady_time",)


def steady_time(clock: Clock) -> Callable[[], float]:
    """A function that returns seconds that never go back. For a real clock, they include the time of suspension."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    if not isinstance(clock, RealClock) or boot_time is None:
        return clock.monotonic
    return lambda: time.clock_gettime(boot_time)
