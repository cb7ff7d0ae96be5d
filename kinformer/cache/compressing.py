"""Compressor: compresses the parts of a cache's objects that nobody reads, now and then and beside everything else.

An event's object is not compressed when it comes. Its parts may be read at once, or change again soon. Every ten
seconds, all parts that are still JSON are compressed, a few objects in each turn of the event loop. So a part that
changes all the time costs six compressions a minute and no more. A part that was read stays decoded, but the large
parts in it that were not read are compressed.

The objects of a list are compressed as they arrive, so that memory has no peak. The first ones give the dictionary, and
are compressed later.
"""

from __future__ import annotations

import time
from typing import Any, Final

from anyio.lowlevel import checkpoint

from kinformer.cache.thread_safe_store import ThreadSafeStore
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.models import compression_of

__all__ = ("Compressor",)

log = get_logger(__name__)

#: Seconds from the end of one pass over the cache to the next.
_PERIOD: Final = 10.0
#: The least ratio of that time to the CPU time of a pass.
_SPARING: Final = 100.0
#: Number of objects that are compressed in one turn of the event loop: a millisecond, if all of them are new.
_SLICE: Final = 64


class Compressor:
    """
    :param type_: the type of the objects
    :param storage: the cache's objects
    """

    def __init__(self, type_: type[Any], storage: ThreadSafeStore[Any], clock: Clock):
        self._compression = compression_of(type_)
        self._storage = storage
        self._clock = clock

    def compress(self, obj: Any) -> None:
        """
        Compress the parts of one object. To be called with each object of a list, before it is stored.

        An error is only logged, and the object stays as it is. A transformer or a handler may have given it any form.
        """
        try:
            self._compression.compress(obj)
        except Exception as error:
            log.debug("object_not_compressed", type=type(obj).__name__, error=repr(error))

    async def run(self) -> None:
        """Compress until cancelled."""
        pause = _PERIOD
        while True:
            await self._clock.sleep(pause)
            pause = max(_PERIOD, _SPARING * await self._compress_all())

    async def _compress_all(self) -> float:
        """Compress what is in the cache now. Return the seconds of CPU time that it took."""
        self._compression.begin_pass()
        known = len(self._compression.dictionaries)
        cpu = await self._pass()
        if known < len(self._compression.dictionaries):
            cpu += await self._pass()  # those that came before the new dictionary
        return cpu

    async def _pass(self) -> float:
        cpu, began = 0.0, time.thread_time()
        for number, obj in enumerate(self._storage.copy().values(), 1):
            self.compress(obj)
            if not number % _SLICE:
                cpu += time.thread_time() - began
                await checkpoint()
                began = time.thread_time()
        return cpu + time.thread_time() - began
