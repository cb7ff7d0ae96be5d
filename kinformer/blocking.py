"""Finding out who blocks the event loop, while it is blocked.

Everything of kinformer runs in the event loop's thread, users' handlers and syncs included. One that calls
``time.sleep()``, or a client that is not async, stops watches, timers and the renewal of leases, and nothing says so.
While an informer or a controller runs, one thread for each loop asks the loop twice a second for a turn. If it does not
get one for a second (a tenth of one in asyncio's debug mode), a warning shows what the loop's thread is doing.

``KINFORMER_BLOCKED_LOOP_SECONDS`` sets another time; 0 switches it off.
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

__all__ = ("Blocks", "blocked_seconds", "warn_when_blocked")

log = get_logger(__name__)

#: Seconds without a turn of the loop after which somebody is told, and those in asyncio's debug mode.
BLOCKED_AFTER: Final = 1.0
BLOCKED_AFTER_IN_DEBUG: Final = 0.1

#: Seconds for which the same task is not told of again.
_QUIET: Final = 60.0

_watched: dict[asyncio.AbstractEventLoop, _Watch] = {}


@contextmanager
def warn_when_blocked() -> Iterator[None]:
    """Watch over the running event loop. Several of these share one thread."""
    loop = asyncio.get_running_loop()
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
    For how many of the last `within` seconds the running loop was blocked, as far as somebody watched over it.

    Only what was long enough to be warned of counts. At most the last 256 times are known.
    """
    watch = _watched.get(asyncio.get_running_loop())
    return watch.blocks.seconds(within, time.monotonic()) if watch is not None else 0.0


class Blocks:
    """When a loop was blocked. The thread that watches over it writes, the loop's own thread reads."""

    def __init__(self) -> None:
        self._past: deque[tuple[float, float]] = deque(maxlen=256)
        self._since: float | None = None

    def begin(self, since: float) -> None:
        """The loop has not turned since then."""
        self._since = since

    def end(self, at: float) -> None:
        """It turns again."""
        if self._since is not None:
            self._past.append((self._since, at))
            self._since = None

    def seconds(self, within: float, now: float) -> float:
        """How many of the `within` seconds before `now` it was blocked."""
        since = self._since
        spans = list(self._past)
        # It may have been noted while we looked: the same start twice is one span.
        if since is not None and not (spans and spans[-1][0] == since):
            spans.append((since, now))
        return sum(max(0.0, min(end, now) - max(start, now - within)) for start, end in spans)


def _limit(loop: asyncio.AbstractEventLoop) -> float:
    if getattr(loop, "is_simulated", False):
        return 0.0  # its time does not pass while something runs
    default = BLOCKED_AFTER_IN_DEBUG if loop.get_debug() else BLOCKED_AFTER
    asked = os.environ.get("KINFORMER_BLOCKED_LOOP_SECONDS", "")
    try:
        return float(asked) if asked else default
    except ValueError:
        log.warning("setting_ignored", name="KINFORMER_BLOCKED_LOOP_SECONDS", value=asked, want="a number of seconds")
        return default


class _Watch:
    """A thread that watches over one loop, from its making in the loop's thread until :meth:`stop`."""

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
        while not self._stopped.wait(self._limit / 2):
            self._turned.clear()
            asked = time.monotonic()
            try:
                self._loop.call_soon_threadsafe(self._turned.set)
            except RuntimeError:  # the loop is closed
                return
            # Asked twice: who held the interpreter's lock, and lets the loop turn now, leaves nothing to be seen.
            if self._turned.wait(self._limit) or self._turned.wait(self._limit / 100) or self._stopped.is_set():
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
        except Exception:  # of another thread's loop: whatever that version of Python makes of it
            return ""
        return task.get_name() if task is not None else ""

    def _stack(self) -> str:
        frame = sys._current_frames().get(self._loops_thread)
        if frame is None:
            return ""
        calls = traceback.extract_stack(frame)
        # From the loop's call of the task on: what is before it says where the program was started.
        for at in range(len(calls) - 1, -1, -1):
            if calls[at].name == "_run" and calls[at].filename.endswith("events.py"):
                calls = traceback.StackSummary.from_list(calls[at + 1 :])
                break
        return escaped(f"Stack (most recent call last):\n{''.join(calls.format())}".rstrip("\n"), lines=True)
