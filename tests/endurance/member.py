"""A member: ``kinformer manager`` as users run it, with a wall clock that is wrong, and a file in which its syncs are.

``python -m tests.endurance.member EVIDENCE SHIFT manager …`` runs the command with a time of day that is SHIFT seconds
off. With SIGUSR2 the time of day leaps to the other side of the truth.

Its controller is a ledger: it counts in ConfigMaps how often it has answered a user. It writes what its cache says plus
one, without a version. So a count goes back if two processes write at once, or if one begins with an old cache.

EVIDENCE gets a line for each begin and end of a sync: the time of a clock that all processes of a machine share, and
the time until which the process may write. These two are the same clock (:mod:`kinformer.leaderelection.keeper`).
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from kinformer.cli import main as kinformer
from kinformer.clock import RealClock
from kinformer.leaderelection import Guard
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap
from kinformer.sharding.membership import MemberGuard

__all__ = ("LEDGER", "Evidence", "make_ledger", "now")

LEDGER = "tests.endurance.member:make_ledger"
#: The most seconds that a sync makes up its mind before it writes.
DECIDING = 0.1


def now() -> float:
    """The time of the guards, in seconds."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Evidence:
    """
    The file of one process's syncs.

    :param guard: decides whether the process may write
    """

    def __init__(self, path: str, guard: Guard) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._guard = guard
        self._note("made", "-")

    @contextmanager
    def of(self, key: str) -> Iterator[None]:
        """Note the begin and the end of a sync."""
        self._note("begin", key)
        try:
            yield
        finally:
            self._note("end", key)

    def _note(self, what: str, key: str) -> None:
        until = self._guard._until
        if isinstance(self._guard, MemberGuard):
            until = min(until, self._guard.table_until)
        # One write for each line, so that a process that is killed leaves whole lines.
        os.write(self._file, f"{what} {now():.9f} {key} {until:.9f}\n".encode())


def make_ledger(context: ControllerContext) -> Controller:
    """Answers a user's ``todo`` with ``seen``, and counts the answers in ``done``."""
    maps = context.informers.informer_for(V1ConfigMap)
    resource = context.client.resource(V1ConfigMap)
    evidence = Evidence(os.environ["ENDURANCE_EVIDENCE"], _guard_of(context))
    prefix = os.environ["ENDURANCE_PREFIX"]

    async def sync(key: str) -> None:
        with evidence.of(key):
            found = maps.indexer.get_by_key(key)
            data = (found.data if found is not None else None) or {}
            if found is None or data.get("todo", "0") == data.get("seen", "0"):
                return
            await context.clock.sleep(random.random() * DECIDING)
            answer = {"seen": data["todo"], "done": str(int(data.get("done", 0)) + 1)}
            await resource.patch(found.metadata.name, {"data": answer}, found.metadata.namespace)

    def is_ours(old: V1ConfigMap | None, new: V1ConfigMap | None) -> bool:
        found = new or old
        return found is not None and found.metadata.namespace.startswith(prefix)

    return Controller("ledger", sync, workers=32, consistent=True, clock=context.clock).watch(maps, is_ours)


def _guard_of(context: ControllerContext) -> Guard:
    transport: Any = context.client._transport
    while "_guard" not in vars(transport):
        transport = transport._transport
    guard: Guard = transport._guard
    return guard


class _WrongTime:
    """The time of day of this process, some seconds off."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        right, right_now = time.time, RealClock.now
        time.time = lambda: right() + self._seconds
        RealClock.now = self._of(right_now)  # type: ignore[method-assign]

    def _of(self, right: Any) -> Any:
        def wrong(clock: RealClock) -> datetime:
            found: datetime = right(clock)
            return found + timedelta(seconds=self._seconds)

        return wrong

    def leap(self, *_: object) -> None:
        """Leap to the other side of the truth."""
        self._seconds = -self._seconds


if __name__ == "__main__":
    os.environ["ENDURANCE_EVIDENCE"] = sys.argv[1]
    signal.signal(signal.SIGUSR2, _WrongTime(float(sys.argv[2])).leap)
    sys.argv[1:] = sys.argv[3:]
    kinformer()
