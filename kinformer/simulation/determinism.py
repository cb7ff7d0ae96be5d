"""Time and randomness inside a simulated run: both come from the loop and the seed, for all code that runs.

While the block of :func:`deterministic` runs, these are replaced:

* time: the functions of :mod:`time`, ``datetime.now()`` and ``utcnow()``, and ``date.today()``; the machine's time zone
  is UTC (the variable TZ), and ``now()`` and ``today()`` know the zone to which a plan has moved a process
* randomness: the module :mod:`random`, a :class:`random.Random` without a seed, and ``os.urandom``, which :mod:`uuid`
  and :mod:`secrets` use
* threads: work for a thread runs in the loop's thread
* asyncio's tasks, ``gather``, ``wait_for`` and ``as_completed``, see :mod:`kinformer.simulation.waits`

After the block everything is as before.

It does not reach a function that a module has imported by its name, such as ``from time import monotonic``: code of the
project takes a :class:`~kinformer.clock.Clock`, and aiohttp's connector is named below. Nor does it reach C extensions
that ask the kernel, or the order of sets of strings, which differs between processes unless PYTHONHASHSEED is set.

The methods of :class:`datetime.datetime` are replaced in the dictionary of the type itself. This uses CPython's private
parts, and there is no other way: modules have imported the type by its name, and msgspec compares with this type.
"""

from __future__ import annotations

import asyncio
import ctypes
import datetime as _datetime
import gc
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, Protocol

import aiohttp.connector
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from kinformer.clock import RealClock
from kinformer.simulation.handles import SimulatedTask
from kinformer.simulation.waits import as_completed, gather, wait_for

__all__ = ("Source", "deterministic")

_UTC: Final = _datetime.UTC
_Datetime: Final = _datetime.datetime
_NANO: Final = 10**9


class Source(Protocol):
    """The source of time in a run."""

    def monotonic(self) -> float:
        """Seconds since the run began."""

    def timestamp(self) -> float:
        """The wall-clock time of the process that asks, in seconds since 1970."""

    def zone(self) -> _datetime.timedelta:
        """By how much the local time of the process that asks is ahead of UTC."""


@contextmanager
def deterministic(source: Source, seed: object) -> Iterator[None]:
    """
    Take time from a source and randomness from a seed while the block runs. Do not nest it.

    :param source: the source of time
    :param seed: all random numbers are drawn from it; it is used by its text
    """
    draw = random.Random(f"entropy {seed}")
    state = random.getstate()
    with ExitStack() as stack:
        stack.callback(random.setstate, state)
        random.seed(f"random {seed}")
        for owner, name, value in (*_functions_of_time(source), *_functions_of_chance(draw), *_INLINE, *_OF_ASYNCIO):
            stack.callback(setattr, owner, name, owner.__dict__[name])
            setattr(owner, name, value)
        stack.enter_context(_replaced(_Datetime, _methods_of_datetime(source)))
        stack.enter_context(_replaced(_datetime.date, {"today": classmethod(_today(source))}))
        stack.enter_context(_in_utc())
        yield


def _functions_of_time(source: Source) -> list[tuple[Any, str, Any]]:
    monotonic, timestamp = source.monotonic, source.timestamp
    return [
        (time, "monotonic", monotonic),
        (time, "perf_counter", monotonic),
        (time, "time", timestamp),
        (time, "monotonic_ns", lambda: round(monotonic() * _NANO)),
        (time, "perf_counter_ns", lambda: round(monotonic() * _NANO)),
        (time, "time_ns", lambda: round(timestamp() * _NANO)),
        # It has imported the function by its name. Otherwise no idle connection would ever be too old to be used.
        (aiohttp.connector, "monotonic", monotonic),
        (RealClock, "monotonic", staticmethod(monotonic)),
    ]


def _functions_of_chance(draw: random.Random) -> list[tuple[Any, str, Any]]:
    class Random(random.Random):
        """A generator that gets its seed from the run's seed, if it is made without one."""

        def __init__(self, seed: Any = None) -> None:
            super().__init__(draw.getrandbits(64) if seed is None else seed)

        def seed(self, a: Any = None, version: int = 2) -> None:
            super().seed(draw.getrandbits(64) if a is None else a, version)

    return [(os, "urandom", draw.randbytes), (random, "_urandom", draw.randbytes), (random, "Random", Random)]


def _methods_of_datetime(source: Source) -> dict[str, Any]:
    timestamp, zone = source.timestamp, source.zone

    def now(cls: Any, tz: _datetime.tzinfo | None = None) -> Any:
        # Local time is UTC unless a plan says otherwise, so that the machine's time zone does not change a run.
        found = cls.fromtimestamp(timestamp(), _UTC)
        return (found + zone()).replace(tzinfo=None) if tz is None else found.astimezone(tz)

    def utcnow(cls: Any) -> Any:
        return cls.fromtimestamp(timestamp(), _UTC).replace(tzinfo=None)

    return {"now": classmethod(now), "utcnow": classmethod(utcnow)}


def _today(source: Source) -> Callable[[Any], Any]:
    def today(cls: Any) -> Any:
        if issubclass(cls, _Datetime):
            return cls.now()
        now = _Datetime.fromtimestamp(source.timestamp(), _UTC) + source.zone()
        return cls(now.year, now.month, now.day)

    return today


@contextmanager
def _replaced(type_: type[Any], methods: dict[str, Any]) -> Iterator[None]:
    """Replace methods of a type that is written in C, while the block runs."""
    names = gc.get_referents(type_.__dict__)[0]
    before = {name: names[name] for name in methods}
    try:
        names.update(methods)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(type_))
        yield
    finally:
        names.update(before)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(type_))


@contextmanager
def _in_utc() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before


async def _in_this_thread(func: Callable[..., Any], *args: Any, **_: Any) -> Any:
    """Run a function that is meant for a thread: here, after other tasks had a turn."""
    await anyio.lowlevel.checkpoint()
    return func(*args)


def _at_once(func: Callable[..., Any], *args: Any) -> Any:
    """Run a function that a thread would hand to the loop: at once, since this is the loop's thread."""
    return func(*args)


#: Parts of asyncio that differ between Python versions. ``Task`` is among them because aiohttp makes tasks by the class
#: itself, to start them eagerly.
_OF_ASYNCIO: Final = tuple(
    (module, name, value)
    for module in (asyncio, asyncio.tasks)
    for name, value in (
        ("Task", SimulatedTask),
        ("gather", gather),
        ("wait_for", wait_for),
        ("as_completed", as_completed),
    )
)
_INLINE: Final = ((anyio.to_thread, "run_sync", _in_this_thread), (anyio.from_thread, "run_sync", _at_once))
