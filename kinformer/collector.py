"""Collector: a setting of Python's cycle collector for programs with large caches.

A cache holds many objects for a long time, and a watch replaces them at a high rate. The collector's defaults do not
fit this. It starts each time that 700 (2,000 since Python 3.12) more containers were made than freed, which the
decoding of a few events does. Now and then it goes through everything that is alive. This does not help a cache:
objects of the API are trees, and are freed as soon as the last reference to them is gone.

:func:`relax` lets :data:`THRESHOLD` containers accumulate before the collector runs. Cycles are still found, but some
10 MB of them may accumulate first. This changes the whole process. An informer calls it once its cache has
:data:`LARGE` objects, unless its options say ``relax_collector=False``. The command ``kinformer`` calls it when it
starts.

:func:`keep` is for a command: what it has imported stays, so the collector need not go through it.

With ``KINFORMER_GC=default`` in the environment, both leave the collector as it is.
"""

from __future__ import annotations

import gc
import os
from typing import Final

from kinformer.logs import get_logger

__all__ = ("LARGE", "THRESHOLD", "keep", "relax")

log = get_logger(__name__)

#: The number of objects with which a cache is large.
LARGE: Final = 1000

#: The number of containers that are made and not freed before the collector examines the youngest of them.
THRESHOLD: Final = 100_000


def relax() -> None:
    """
    Make the collector start less often, for the rest of the process. The log says so at the level debug.

    A collector that is switched off, or has a higher threshold, is not changed. A second call has no effect.
    """
    youngest, *older = gc.get_threshold()
    # A threshold of 0 switches the collector off, like gc.disable(). That is left as it is.
    off = not gc.isenabled() or youngest == 0
    if not off and youngest < THRESHOLD and _may_change():
        gc.set_threshold(THRESHOLD, *older)
        log.debug("collector_relaxed", threshold=THRESHOLD, before=youngest)


def keep() -> None:
    """
    Make the collector leave alone what is alive now, for the rest of the process.

    The imports of a manager with all controllers make some 170,000 containers. To go through them took 2 collections
    and 70 ms of CPU at each start.
    """
    if _may_change():
        gc.freeze()


def _may_change() -> bool:
    return os.environ.get("KINFORMER_GC", "") != "default"
