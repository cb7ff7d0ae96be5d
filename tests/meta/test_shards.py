"""Shard selectors: what a client writes and a server reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import ShardSelectorError, parse_shard_selector, shard_selectors
from kinformer.meta.shards import fnv1a_64

HALF = "0x8000000000000000"
LOWER = f"shardRange(object.metadata.uid, '0x0000000000000000', '{HALF}')"
UPPER = f"shardRange(object.metadata.uid, '{HALF}', '0x10000000000000000')"


def test_two_shards_are_the_two_halves_of_the_hash() -> None:
    assert shard_selectors(2) == [LOWER, UPPER]


def test_the_hash_is_fnv_1a() -> None:
    # From the reference implementation's test vectors.
    assert fnv1a_64("") == 0xCBF29CE484222325
    assert fnv1a_64("foobar") == 0x85944171F73967E8


@given(st.integers(1, 9), st.text(), st.text())
def test_each_object_is_in_just_one_shard(count: int, uid: str, namespace: str) -> None:
    for field in ("uid", "namespace"):
        shards = [parse_shard_selector(text) for text in shard_selectors(count, field)]

        assert sum(shard.matches(uid, namespace) for shard in shards) == 1


@given(st.integers(1, 9))
def test_what_is_read_is_written_in_the_same_way(count: int) -> None:
    text = " || ".join(shard_selectors(count))

    assert str(parse_shard_selector(text)) == text
    assert parse_shard_selector(text).matches("any", "where")


def test_spaces_and_the_kind_of_quotes_mean_nothing() -> None:
    assert str(parse_shard_selector(f' shardRange( object.metadata.uid,"0x{"0" * 16}" , "{HALF}") ||{UPPER} ')) == (
        f"{LOWER} || {UPPER}"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", r"'' is not shardRange"),
        ("true", r"'true' is not shardRange"),
        (f"{LOWER} && {UPPER}", "is not shardRange"),
        (LOWER.replace("uid", "name"), "unsupported field path 'object.metadata.name'"),
        (LOWER.replace(HALF, "0x8"), "'0x8' is not 0x and 16 lower-case hex digits"),
        (LOWER.replace(HALF, HALF.replace("8", "A")), "is not 0x and 16 lower-case hex digits"),
        (LOWER.replace(HALF, "0x10000000000000001"), "is not 0x and 16 lower-case hex digits"),
        (LOWER.replace(HALF, "0x0000000000000000"), "must be less than end"),
        (f"{LOWER} || {UPPER.replace('uid', 'namespace')}", "must use the same field"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(ShardSelectorError, match=why):
        parse_shard_selector(text)


def test_less_than_one_shard_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 0 shards"):
        shard_selectors(0)
