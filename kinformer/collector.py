"""What kinformer does about Python's cycle collector, all of it here.

A cache holds many objects for long, and a watch replaces them at a high rate. The collector's defaults are made for
neither: it starts each time that 700 more containers were made than freed, which decoding a few events does, and every
so often goes through everything that is alive. Left alone it takes four fifths of the time of an informer that decodes
all fields. None of it is of use here: objects of the API are trees, freed the moment that nobody refers to them.

So an informer that starts calls :func:`relax`, which lets :data:`THRESHOLD` containers come together before the
collector looks at them. Cycles are still found, by anybody's code in this process; some 10 MB of them may come
together first. :func:`paused` goes further, for the time of a first list, in which nothing becomes garbage.

``KINFORMER_GC=default`` in the environment leaves the collector as it is, and so does whoever has switched it off, or
has set a higher threshold already.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from kinformer.clock import Clock

__all__ = ("LONGEST_PAUSE", "THRESHOLD", "paused", "relax")

#: Containers made and not freed again after which the collector looks at the youngest of them.
THRESHOLD = 100_000

#: Seconds after which a pause is over, whatever it waits for.
LONGEST_PAUSE = 10.0

_pauses = 0


def relax() -> None:
    """Have the collector start less often, for the rest of the process. Calling it twice is calling it once."""
    youngest, *older = gc.get_threshold()
    # 0 switches the collector off: whoever did that knows why.
    if 0 < youngest < THRESHOLD and _may():
        gc.set_threshold(THRESHOLD, *older)


@contextmanager
def paused(clock: Clock) -> Iterator[None]:
    """
    Have the collector wait while many objects are made that all stay, but no longer than :data:`LONGEST_PAUSE`.

    Several may overlap, also of different tasks; the collector goes on when the last one has ended, unless it did not
    run before. Must be entered in the event loop's thread.
    """
    if not (_pauses or (gc.isenabled() and _may())):
        yield
        return
    pause = _Pause()
    # A list waits for a server, and that may be for long, while others in this process make garbage.
    timer = clock.call_later(LONGEST_PAUSE, pause.end)
    try:
        yield
    finally:
        timer.cancel()
        pause.end()


class _Pause:
    def __init__(self) -> None:
        global _pauses
        _pauses += 1
        self._goes_on = True
        gc.disable()

    def end(self) -> None:
        global _pauses
        if self._goes_on:
            self._goes_on = False
            _pauses -= 1
            if not _pauses:
                _take_for_old()
                gc.enable()


def _take_for_old() -> None:
    """Have what is there counted as old, unseen: the next look at the young would take 60 ms for 100,000 pods."""
    # Freezing and thawing moves everything into the oldest generation, at no cost. Whoever has frozen something of
    # their own wants it to stay so.
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


def _may() -> bool:
    return os.environ.get("KINFORMER_GC", "") != "default"
