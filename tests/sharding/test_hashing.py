from __future__ import annotations

from collections import Counter

import pytest

from kinformer.sharding import Ranges, fnv1a_64, text_of_key


# From the FNV reference distribution's test vectors (draft-eastlake-fnv).
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 0xCBF29CE484222325),
        ("a", 0xAF63DC4C8601EC8C),
        ("b", 0xAF63DF4C8601F1A5),
        ("foobar", 0x85944171F73967E8),
        ("hello", 0xA430D84680AABD0B),
    ],
)
def test_the_hash_is_fnv_1a_with_64_bits(text: str, number: int) -> None:
    assert fnv1a_64(text) == number


def test_a_text_is_hashed_by_its_utf_8_bytes() -> None:
    assert fnv1a_64("ü") == fnv1a_64("\u00fc")
    assert fnv1a_64("ü") != fnv1a_64("u")


@pytest.mark.parametrize(
    ("key", "text"), [("default/web", "default"), ("node-1", "node-1"), ("a/b/c", "a"), ("default", "default")]
)
def test_a_keys_namespace_is_hashed_or_the_whole_key_without_one(key: str, text: str) -> None:
    assert text_of_key(key) == text


def test_ranges_stay_what_they_are_from_one_version_to_the_next() -> None:
    ranges = Ranges(64)
    assert [ranges.of(text) for text in ("default", "kube-system", "team-000", "team-001")] == [62, 30, 33, 46]


@pytest.mark.parametrize("pattern", ["team-{:03d}", "tenant-{}", "{:05d}-prod", "a{}"])
@pytest.mark.parametrize("count", [64, 256, 1024])
def test_names_that_differ_in_a_few_letters_are_spread_over_all_ranges(pattern: str, count: int) -> None:
    ranges = Ranges(count)
    names = max(1000, 4 * count)
    found = Counter(ranges.of(pattern.format(number)) for number in range(names))
    assert len(found) > 0.9 * count
    assert max(found.values()) < 3.5 * names / count


def test_there_is_at_least_one_range() -> None:
    with pytest.raises(ValueError, match="want at least 1"):
        Ranges(0)
