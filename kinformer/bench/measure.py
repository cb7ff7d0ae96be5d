"""Measuring: clocks, and the CPU time and memory of this process and of others (Linux only)."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel

__all__ = ("Pulse", "Stopwatch", "cpu_seconds", "current_kib", "feel_pulse", "peak_kib", "reset_peak")


@dataclass(slots=True)
class Stopwatch:
    """Wall time and this process's CPU time, both in seconds since the stopwatch was made."""

    _wall: float = field(default_factory=time.perf_counter, init=False)
    _cpu: float = field(default_factory=time.process_time, init=False)
    _system: float = field(default_factory=lambda: os.times().system, init=False)

    @property
    def wall(self) -> float:
        return time.perf_counter() - self._wall

    @property
    def cpu(self) -> float:
        return time.process_time() - self._cpu

    @property
    def system(self) -> float:
        """The CPU time of this process in the kernel: it reads from sockets and hands out new memory."""
        return os.times().system - self._system


_THIS = "self"
_PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """The CPU time of another process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def current_kib(pid: int | str = _THIS) -> int:
    """The resident memory of a process in KiB."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:  # noqa: PTH123  # read often: this is faster
        return int(statm.read().split()[1]) * _PAGE_KIB


def peak_kib(pid: int | str = _THIS) -> int:
    """The highest value of :func:`current_kib` since the start of the process, or the last :func:`reset_peak`."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:  # noqa: PTH123  # as in current_kib()
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1])


def reset_peak() -> None:
    """Let :func:`peak_kib` of this process begin anew."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as clear_refs:  # noqa: PTH123  # as in current_kib()
        clear_refs.write("5")


@dataclass(slots=True)
class Pulse:
    """:ivar longest: the longest time in seconds for which a task that was ready had to wait for its turn"""

    longest: float = 0.0


@asynccontextmanager
async def feel_pulse() -> AsyncIterator[Pulse]:
    """Measure, while the block runs, how long the event loop lets a task wait. It uses up all idle time of a core."""
    pulse = Pulse()

    async def beat() -> None:
        before = time.perf_counter()
        while True:
            await anyio.lowlevel.checkpoint()
            now = time.perf_counter()
            pulse.longest, before = max(pulse.longest, now - before), now

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beat)
        yield pulse
        tasks.cancel_scope.cancel()
