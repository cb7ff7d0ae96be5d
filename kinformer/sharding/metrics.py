"""Metrics of a member. The label is the group's name. Kubernetes has no such metrics, so the names are our own."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

from kinformer.cluster import in_cluster

__all__ = ("ShardMetrics",)

_MEMBERS: Final = Gauge("kinformer_shard_members", "Members that live, as this process sees them", ("group",))
_OWNED: Final = Gauge("kinformer_shards_owned", "Shards that this process owns", ("group",))
_CLAIMED: Final = Counter("kinformer_shards_claimed_total", "Shards that this process has claimed", ("group",))
_GIVEN_UP: Final = Counter("kinformer_shards_given_up_total", "Shards that this process has given up", ("group",))


class ShardMetrics:
    """The metrics of one group."""

    __slots__ = ("_members", "_owned", "claimed", "given_up")

    def __init__(self, group: str) -> None:
        self._members = _MEMBERS.labels(in_cluster(group))
        self._owned = _OWNED.labels(in_cluster(group))
        self.claimed = _CLAIMED.labels(in_cluster(group))
        self.given_up = _GIVEN_UP.labels(in_cluster(group))
        self.tell(members=0, owned=0)

    def tell(self, *, members: int, owned: int) -> None:
        """Set the present numbers of live members and owned ranges."""
        self._members.set(members)
        self._owned.set(owned)
