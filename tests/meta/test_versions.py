from __future__ import annotations

import pytest

from kinformer.meta import is_older


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [("9", "10", True), ("10", "9", False), ("10", "10", False), ("", "10", False), ("abc", "10", False)],
)
def test_versions_are_compared_as_numbers_and_what_is_none_is_not_older(version: str, than: str, older: bool) -> None:
    assert is_older(version, than) is older
