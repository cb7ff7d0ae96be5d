from __future__ import annotations

import pytest

from kinformer.meta.integers import scaled_value


def test_an_int_is_taken_as_it_is_whatever_the_total() -> None:
    assert scaled_value(3, 100, round_up=True) == 3
    assert scaled_value(-3, 0, round_up=False) == -3


def test_a_percentage_is_a_share_of_the_total_rounded_as_asked() -> None:
    assert scaled_value("25%", 10, round_up=True) == 3
    assert scaled_value("25%", 10, round_up=False) == 2
    assert scaled_value("-25%", 10, round_up=False) == -3
    assert scaled_value("150%", 4, round_up=False) == 6


@pytest.mark.parametrize(
    "text", ["", "%", "50", "1.5%", "5%%", " 5%", "5% ", "1_0%", "\u0665%", "9" * 30 + "%", "5%\n"]
)
def test_anything_else_is_an_error_that_quotes_it(text: str) -> None:
    with pytest.raises(ValueError, match="neither an integer nor a percentage") as error:
        scaled_value(text, 10, round_up=True)
    assert repr(text) in str(error.value)


def test_a_percentage_that_is_too_long_to_be_remembered_is_read_alike() -> None:
    assert scaled_value("0" * 20 + "25%", 8, round_up=True) == 2
    with pytest.raises(ValueError, match="neither an integer nor a percentage"):
        scaled_value("9" * 5000 + "%", 8, round_up=True)
