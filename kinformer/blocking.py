"""Blocking: detects code that blocks the event loop, while it blocks it.

All of kinformer runs in the event loop's thread, including users' handlers and syncs. A handler that calls
``time.sleep()``, or uses a client that is not async, stops watches, timers and the renewal of leases, without any
error. While an informer or a controller runs, one thread for each event loop asks the loop for a turn, four times
within the limit. The limit is one second, or a tenth of a second in asyncio's debug mode. If the loop does not turn
within the limit, a warning shows what the loop's thread is doing. A block that lasts as long as the limit is always
noticed. One of three quarters of it may be noticed, too.

``KINFORMER_BLOCKED_LOOP_SECONDS`` sets another limit. 0 switches the check off.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kinformer.logs import escaped, get_logger

__all__ = ("Blocks", "blocked_seconds", "running_loop", "warn_when_blocked")

log = get_logger(__name__)

#: Seconds without a turn of the event loop after which a warning is logged; the second value is for asyncio's debug
#: mode.
BLOCKED_AFTER: Final = 1.0
BLOCKED_AFTER_IN_DEBUG: Final = 0.1

#: The share of the limit after which the loop is asked again. It has the rest of the limit to turn. So a block is
#: noticed at the limit, whenever it begins. Each time costs a process at rest 0.1 ms of CPU.
_ASKED_EACH: Final = 0.25

#: Seconds for which no further warning is logged about the same task.
_QUIET: Final = 60.0

_watched: dict[asyncio.AbstractEventLoop, _Watch] = {}


def running_loop() -> asyncio.AbstractEventLoop:
    """
    The event loop of asyncio that runs this code.

    :raises RuntimeError: if there is none
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "kinformer runs on asyncio: leave backend='trio' out; in tests, a fixture anyio_backend returns 'asyncio'"
        ) from None


@contextmanager
def warn_when_blocked() -> Iterator[None]:
    """Watch the running event loop. Several users of one loop share one thread."""
    loop = running_loop()
    watch = _watched.get(loop)
    if watch is None:
        limit = _limit(loop)
        if not limit:
            yield
            return
        watch = _watched[loop] = _Watch(loop, limit)
    watch.users += 1
    try:
        yield
    finally:
        watch.users -= 1
        if not watch.users:
            del _watched[loop]
            watch.stop()


def blocked_seconds(within: float) -> float:
    """
    The number of seconds for which the running event loop was blocked, of the last `within` seconds.

    Only blocks that were long enough for a warning count, and only while the loop was watched. At most the last 256 are
    known.
    """
    watch = _watched.get(asyncio.get_running_loop())
    return watch.blocks.seconds(within, time.monotonic()) if watch is not None else 0.0


class Blocks:
    """The times at which a loop was blocked. The watching thread writes, and the loop's own thread reads."""

    def __init__(self) -> None:
        self._past: deque[tuple[float, float]] = deque(maxlen=256)
        self._since: float | None = None

    def begin(self, since: float) -> None:
        """Note that the loop has not turned since then."""
        self._since = since

    def end(self, at: float) -> None:
        """Note that the loop turns again."""
        if self._since is not None:
            self._past.append((self._since, at))
            self._since = None

    def seconds(self, within: float, now: float) -> float:
        """The seconds of the `within` seconds before `now` in which it was blocked."""
        since = self._since
        spans = list(self._past)
        # The end may have been noted meanwhile: two spans with the same start are one.
        if since is not None and not (spans and spans[-1][0] == since):
            spans.append((since, now))
        return sum(max(0.0, min(end, now) - max(start, now - within)) for start, end in spans)


def _limit(loop: asyncio.AbstractEventLoop) -> float:
    if getattr(loop, "is_simulated", False):
        return 0.0  # the time of a simulated loop does not pass while something runs
    default = BLOCKED_AFTER_IN_DEBUG if loop.get_debug() else BLOCKED_AFTER
    asked = os.environ.get("KINFORMER_BLOCKED_LOOP_SECONDS", "")
    try:
        return float(asked) if asked else default
    except ValueError:
        log.warning("setting_ignored", name="KINFORMER_BLOCKED_LOOP_SECONDS", value=asked, want="a number of seconds")
        return default


class _Watch:
    """A thread that watches one loop, from its creation in the loop's thread until :meth:`stop`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: float) -> None:
        self.users = 0
        self.blocks = Blocks()
        self._loop = loop
        self._loops_thread = threading.get_ident()
        self._limit = limit
        self._stopped = threading.Event()
        self._turned = threading.Event()
        self._told: dict[str, float] = {}
        threading.Thread(target=self._run, name="kinformer loop watch", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self._turned.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._limit * _ASKED_EACH):
            self._turned.clear()
            asked = time.monotonic()
            try:
                self._loop.call_soon_threadsafe(self._turned.set)
            except RuntimeError:  # the loop is closed
                return
            # Waits twice: if the loop was only kept waiting for the GIL, it turns at once now, and nothing is to be
            # shown.
            patience = self._limit * (1 - _ASKED_EACH)
            if self._turned.wait(patience) or self._turned.wait(self._limit / 100) or self._stopped.is_set():
                continue
            self.blocks.begin(asked)
            self._tell()
            self._turned.wait()
            self.blocks.end(time.monotonic())

    def _tell(self) -> None:
        task = self._task()
        now = time.monotonic()
        if now < self._told.get(task, 0.0):
            return
        self._told[task] = now + _QUIET
        log.warning(
            "event_loop_blocked",
            task=task,
            seconds=self._limit,
            hint="call what blocks in a thread: await anyio.to_thread.run_sync(...)",
            stack=self._stack(),
        )

    def _task(self) -> str:
        try:
            task = asyncio.current_task(self._loop)
        except Exception:  # the loop is another thread's, for which versions of Python raise different errors
            return ""
        return task.get_name() if task is not None else ""

    def _stack(self) -> str:
        frame = sys._current_frames().get(self._loops_thread)
        if frame is None:
            return ""
        calls = traceback.extract_stack(frame)
        # Only the frames after the loop's call of the task. Those before it show where the program was started.
        for at in range(len(calls) - 1, -1, -1):
            if calls[at].name == "_run" and calls[at].filename.endswith("events.py"):
                calls = traceback.StackSummary.from_list(calls[at + 1 :])
                break
        return escaped(f"Stack (most recent call last):\n{''.join(calls.format())}".rstrip("\n"), lines=True)
