from __future__ import annotations

from kinformer.manager.inspection.inspector import shards_view
from kinformer.manager.inspection.views import MemberView
from kinformer.sharding.load import Load
from kinformer.sharding.snapshot import MemberSnapshot, ShardsSnapshot
from tests.manager.inspection.worlds import world


def snapshot() -> ShardsSnapshot:
    two = MemberSnapshot("two", live=False, leaving=False, ranges=(2,), seconds_since_renewal=20.0)
    one = MemberSnapshot("one", live=True, leaving=False, ranges=(0, 1), seconds_since_renewal=1.0, load=Load(7, 3))
    return ShardsSnapshot("default/group", "one", 4, True, (two, one), {0: "open", 1: "filling"}, (3,), 0)


def test_members_are_shown_by_name_with_the_ranges_that_they_own() -> None:
    view = shards_view(snapshot())

    assert view.members == [
        MemberView(name="one", alive=True, ranges=2, is_self=True, objects=7, syncs=3),
        MemberView(name="two", alive=False, ranges=1, is_self=False),
    ]
    assert view.ranges == ["one", "one", "two", ""]


async def test_a_snapshot_of_the_manager_has_the_members() -> None:
    async with world(runs=False) as here:
        assert here.manager.inspector.snapshot().shards is None
        here.manager.inspector.shards = snapshot
        here.clock.turn(1)

        assert here.manager.inspector.snapshot().shards == shards_view(snapshot())
