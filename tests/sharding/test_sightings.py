from __future__ import annotations

from kinformer.sharding.sightings import MemberLease, Sightings


def seen(*leases: MemberLease, at: float = 0.0, owners: tuple[str, ...] = ()) -> Sightings:
    sightings = Sightings(15)
    sightings.look(leases, owners, at)
    return sightings


def test_a_member_lives_a_full_duration_after_its_last_seen_change() -> None:
    sightings = seen(MemberLease("a", "1", seconds=15))
    sightings.look([MemberLease("a", "1", seconds=15)], (), 14)

    assert sightings.live(14.9) == {"a"}
    assert not sightings.is_over("a", 14.9)
    assert sightings.is_over("a", 15)
    assert sightings.live(15) == set()


def test_a_change_begins_a_new_wait() -> None:
    sightings = seen(MemberLease("a", "1", seconds=15))
    sightings.look([MemberLease("a", "2", seconds=15)], (), 14)
    assert not sightings.is_over("a", 28.9)
    assert sightings.is_over("a", 29)


def test_a_longer_lease_is_waited_out_in_full_and_a_shorter_extended() -> None:
    sightings = seen(MemberLease("long", "1", seconds=60), MemberLease("short", "1", seconds=1))
    assert not sightings.is_over("long", 59)
    assert not sightings.is_over("short", 14)


def test_a_lease_that_disappears_may_have_been_renewed_right_before() -> None:
    sightings = seen(MemberLease("a", "1", seconds=60), owners=("a",))
    sightings.look((), ("a",), 10)
    assert sightings.live(10) == set()
    assert not sightings.is_over("a", 69)
    assert sightings.is_over("a", 70)


def test_an_owner_without_a_lease_is_waited_out_from_when_missed() -> None:
    sightings = seen(owners=("a",), at=100)
    assert not sightings.is_over("a", 114)
    assert sightings.is_over("a", 115)


def test_a_member_already_waited_out_is_not_waited_out_again() -> None:
    sightings = seen(MemberLease("a", "1"), owners=("a",))
    assert sightings.is_over("a", 15)
    sightings.took("a")
    sightings.look((), ("a",), 16)
    assert sightings.is_over("a", 16)


def test_a_leaving_or_leaseless_member_gets_nothing_and_still_counts() -> None:
    sightings = seen(MemberLease("leaves", "1", leaving=True), MemberLease("released", "1", holds=False))
    assert sightings.live(1) == set()
    assert not sightings.is_over("leaves", 1)
    assert not sightings.is_over("released", 1)


def test_who_is_gone_and_owns_nothing_is_forgotten() -> None:
    sightings = seen(MemberLease("a", "1"))
    sightings.look((), (), 1)
    assert sightings.names == set()
