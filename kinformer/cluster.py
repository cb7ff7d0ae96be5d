"""The cluster that a piece of code works for, where one process works for many.

A :class:`~kinformer.manager.Fleet` runs one manager for each cluster. Names of controllers, queues and informers are
the same in all of them, so logs and metrics need to say which cluster is meant. The name of the cluster is a context
variable: tasks, timers and threads inherit it from the code that starts them. So nobody has to pass it on. It is empty
in a process that works for one cluster, and then logs and metrics have no ``cluster``.

A metric's labels are fixed when the metric is made. So the name of the cluster is part of a label's value inside the
process, and becomes a label of its own where the metrics are served (:mod:`kinformer.manager.serving.metrics`).
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

__all__ = ("CLUSTER", "SEPARATOR", "in_cluster")

#: The name of the cluster; empty in a process that works for one cluster.
CLUSTER: Final[ContextVar[str]] = ContextVar("cluster", default="")

#: Between the cluster and the rest of a label's value: the picture of the ASCII unit separator, which no name contains.
SEPARATOR: Final = "\u241f"


def in_cluster(name: str) -> str:
    """The value of a metric's label for something in the cluster that this code works for."""
    cluster = CLUSTER.get()
    return f"{cluster}{SEPARATOR}{name}" if cluster else name
