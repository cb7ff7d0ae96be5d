"""Metrics of a member. The label is the group's name. Kubernetes has no such metrics, so the names are our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prometheus_client import Counter, Gauge

from kinformer.cluster import in_cluster
from kinformer.sharding.load import Load, skew

__all__ = ("ShardMetrics",)

_MEMBERS: Final = Gauge("kinformer_shard_members", "Members that live, as this process sees them", ("group",))
_OWNED: Final = Gauge("kinformer_shards_owned", "Shards that this process owns", ("group",))
_CLAIMED: Final = Counter("kinformer_shards_claimed_total", "Shards that this process has claimed", ("group",))
_SKEW: Final = Gauge(
    "kinformer_shard_skew",
    "The load of the member with the most, over an even share of all; 1 if all have the same",
    ("group", "of"),
)
_GIVEN_UP: Final = Counter("kinformer_shards_given_up_total", "Shards that this process has given up", ("group",))


class ShardMetrics:
    """The metrics of one group."""

    __slots__ = ("_members", "_owned", "_skews", "claimed", "given_up")

    def __init__(self, group: str) -> None:
        self._members = _MEMBERS.labels(in_cluster(group))
        self._owned = _OWNED.labels(in_cluster(group))
        self.claimed = _CLAIMED.labels(in_cluster(group))
        self.given_up = _GIVEN_UP.labels(in_cluster(group))
        self._skews = {of: _SKEW.labels(in_cluster(group), of) for of in ("objects", "syncs")}
        self.tell(members=0, owned=0, loads=())

    def tell(self, *, members: int, owned: int, loads: Sequence[Load]) -> None:
        """Set the present numbers of live members and owned ranges, and how unevenly the load lies over the members."""
        self._members.set(members)
        self._owned.set(owned)
        for of, gauge in self._skews.items():
            gauge.set(skew([getattr(load, of) for load in loads]))
