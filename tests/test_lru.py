"""A mapping of limited size."""

from __future__ import annotations

import pytest

from kinformer.lru import LRU


def test_what_was_not_used_for_longest_is_forgotten_first() -> None:
    cache: LRU[str, int] = LRU(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")

    cache.put("c", 3)

    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)
    with pytest.raises(ValueError, match="at least 1"):
        LRU(0)
