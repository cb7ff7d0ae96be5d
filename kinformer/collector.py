"""What a program with large caches may do about Python's cycle collector: one call, which is the program's to make.

A cache holds many objects for long, and a watch replaces them at a high rate. The collector's defaults are made for
neither: it starts each time that 700 (2,000 since Python 3.12) more containers were made than freed, which decoding a
few events does, and every so often goes through everything that is alive. None of it is of use to a cache: objects of
the API are trees, freed the moment that nobody refers to them.

:func:`relax` lets :data:`THRESHOLD` containers come together before the collector looks at them. Cycles are still
found; some 10 MB of them may come together first. It changes the whole process, so no part of the library calls it: the
command ``kinformer`` does, and the ``main()`` of a controller of your own may::

    from kinformer.collector import relax

    relax()
    anyio.run(main)

``KINFORMER_GC=default`` in the environment has it leave the collector as it is.
"""

from __future__ import annotations

import gc
import os

__all__ = ("THRESHOLD", "relax")

#: Containers made and not freed again after which the collector looks at the youngest of them.
THRESHOLD = 100_000


def relax() -> None:
    """
    Have the collector start less often, for the rest of the process.

    A collector that was switched off, or that has a higher threshold, is left as it is. Calling it twice is calling it
    once.
    """
    youngest, *older = gc.get_threshold()
    # A threshold of 0 switches the collector off, as gc.disable() does: whoever did that knows why.
    off = not gc.isenabled() or youngest == 0
    if not off and youngest < THRESHOLD and os.environ.get("KINFORMER_GC", "") != "default":
        gc.set_threshold(THRESHOLD, *older)
