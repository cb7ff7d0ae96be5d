from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.sharding import assignment, owner_of

MEMBERS = st.sets(st.text("abcdef0123456789-", min_size=1, max_size=12), min_size=1, max_size=8)


def test_nobody_owns_anything_where_nobody_is() -> None:
    assert assignment(3, ()) == ("", "", "")


@given(MEMBERS, st.randoms())
def test_the_order_in_which_members_are_seen_changes_nothing(members: set[str], random: object) -> None:
    ordered = sorted(members)
    shuffled = ordered[::-1]
    assert assignment(64, ordered) == assignment(64, shuffled)


@given(MEMBERS, st.integers(64, 256))
def test_who_joins_takes_ranges_and_moves_none_between_others(members: set[str], count: int) -> None:
    before, after = assignment(count, members), assignment(count, members | {"joins!"})
    assert all(now in (was, "joins!") for was, now in zip(before, after, strict=True))


@given(MEMBERS, st.integers(64, 256))
def test_who_leaves_has_its_ranges_shared_out_and_moves_no_other(members: set[str], count: int) -> None:
    leaver = min(members)
    before, after = assignment(count, members), assignment(count, members - {leaver})
    for was, now in zip(before, after, strict=True):
        assert now == was or was == leaver
        assert now != leaver


@pytest.mark.parametrize("count", [64, 256, 1024])
@pytest.mark.parametrize("members", [2, 3, 4, 8])
def test_only_the_new_members_ranges_move_and_shares_are_even(count: int, members: int) -> None:
    moved = taken = largest = 0
    tries = 50
    for number in range(tries):
        names = [f"kinformer-{number}-{it}" for it in range(members)]
        before, after = assignment(count, names[:-1]), assignment(count, names)
        moved += sum(was != now for was, now in zip(before, after, strict=True))
        taken += after.count(names[-1])
        largest = max(largest, *Counter(after).values())
    assert moved == taken  # the least: each range that moved is one that the new member owns
    assert moved / tries == pytest.approx(count / members, rel=0.1)
    assert largest < 2.5 * count / members


def test_an_owner_is_one_of_those_who_are_there() -> None:
    assert {owner_of(number, ["a", "b", "c"]) for number in range(64)} == {"a", "b", "c"}
