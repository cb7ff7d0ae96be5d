from __future__ import annotations

from kinformer.sharding.sightings import MemberLease, Sightings


def seen(*leases: MemberLease, at: float = 0.0, owners: tuple[str, ...] = ()) -> Sightings:
    sightings = Sightings(15)
    sightings.look(leases, owners, at)
    return sightings


def test_a_member_lives_for_its_full_duration_after_the_last_change_that_was_seen_here() -> None:
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


def test_a_lease_that_lasts_longer_than_ones_own_is_waited_out_in_full_and_a_shorter_one_as_ones_own() -> None:
    sightings = seen(MemberLease("long", "1", seconds=60), MemberLease("short", "1", seconds=1))
    assert not sightings.is_over("long", 59)
    assert not sightings.is_over("short", 14)


def test_a_lease_that_disappears_may_have_been_renewed_right_before() -> None:
    sightings = seen(MemberLease("a", "1", seconds=60), owners=("a",))
    sightings.look((), ("a",), 10)
    assert sightings.live(10) == set()
    assert not sightings.is_over("a", 69)
    assert sightings.is_over("a", 70)


def test_an_owner_whose_lease_was_never_seen_is_waited_out_from_when_it_was_missed() -> None:
    sightings = seen(owners=("a",), at=100)
    assert not sightings.is_over("a", 114)
    assert sightings.is_over("a", 115)


def test_a_member_whose_lease_was_taken_here_after_the_wait_is_not_waited_out_again() -> None:
    sightings = seen(MemberLease("a", "1"), owners=("a",))
    assert sightings.is_over("a", 15)
    sightings.took("a")
    sightings.look((), ("a",), 16)
    assert sightings.is_over("a", 16)


def test_who_leaves_or_does_not_hold_its_lease_is_given_nothing_and_is_not_over() -> None:
    sightings = seen(MemberLease("leaves", "1", leaving=True), MemberLease("released", "1", holds=False))
    assert sightings.live(1) == set()
    assert not sightings.is_over("leaves", 1)
    assert not sightings.is_over("released", 1)


def test_who_is_gone_and_owns_nothing_is_forgotten() -> None:
    sightings = seen(MemberLease("a", "1"))
    sightings.look((), (), 1)
    assert sightings.names == set()
