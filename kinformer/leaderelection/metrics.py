"""Metrics of an election, with the names of Kubernetes' components. The label is the Lease's name."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

from kinformer.cluster import in_cluster

__all__ = ("ElectionMetrics",)

_MASTER: Final = Gauge(
    "leader_election_master_status",
    "Whether this process holds the lease: 1 if it leads, 0 if it waits",
    ("name",),
)
_SLOW_PATH: Final = Counter(
    "leader_election_slowpath_total",
    "Renewals for which the lease had to be read first",
    ("name",),
)


class ElectionMetrics:
    """The metrics of one election."""

    __slots__ = ("leading", "slow_path")

    def __init__(self, name: str) -> None:
        self.leading = _MASTER.labels(in_cluster(name))
        self.slow_path = _SLOW_PATH.labels(in_cluster(name))
        self.leading.set(0)
