"""Shards: how keys are divided between processes, as the status page shows it."""

from __future__ import annotations

from kinformer.manager.inspection.views import MemberView, ShardsView
from kinformer.sharding.snapshot import ShardsSnapshot

__all__ = ("shards_view",)


def shards_view(snapshot: ShardsSnapshot) -> ShardsView:
    """The members in the order of their names, and the owner of each range."""
    owners = {number: member.name for member in snapshot.members for number in member.ranges}
    return ShardsView(
        members=[
            MemberView(
                name=member.name,
                alive=member.live,
                ranges=len(member.ranges),
                is_self=member.name == snapshot.member,
                objects=member.load.objects if member.load is not None else None,
                syncs=member.load.syncs if member.load is not None else None,
            )
            for member in sorted(snapshot.members, key=lambda member: member.name)
        ],
        ranges=[owners.get(number, "") for number in range(snapshot.shards)],
        object_skew=snapshot.object_skew,
        sync_skew=snapshot.sync_skew,
    )
