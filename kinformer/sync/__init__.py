"""The client and its informers for scripts, notebooks and programs of threads, without ``async`` and ``await``.

::

    import kinformer.sync

    with kinformer.sync.connect() as client:
        pods = client.resource(V1Pod)
        for pod in pods.list("default").items:
            print(pod.metadata.name)
        for change in pods.follow("default"):
            print(change.type, change.object.metadata.name)

The asyncio client runs in a thread of its own while the block runs. Each call waits until that thread has done it. So
the calls, their arguments and their errors are those of :mod:`kinformer.client`, and they also work where an event loop
runs already, as in a notebook. Several threads may use one client. Ctrl-C cancels the call that waits.

A call takes about 0.1 ms longer, because it changes threads twice. Reading the cache of an :class:`Informer` takes no
longer, because any thread may read it. There are no controllers here: write them with ``async``.
"""

from __future__ import annotations

from kinformer.sync.client import Client, Resource, connect
from kinformer.sync.informer import Informer

__all__ = ("Client", "Informer", "Resource", "connect")
