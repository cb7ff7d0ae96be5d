"""Integers in texts, however long."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kinformer.meta.integers import duration_of, read_integer, read_unsigned


@pytest.mark.parametrize(
    ("text", "signed", "unsigned"),
    [
        *(("0", 0, 0), ("7", 7, 7), ("-7", -7, None), ("+7", 7, None), ("007", 7, 7), ("0" * 5_000 + "7", 7, 7)),
        *(("", None, None), ("-", None, None), ("1_0", None, None), (" 1", None, None), ("\u0661", None, None)),
        *((str(2**63 - 1), 2**63 - 1, 2**63 - 1), (str(2**63), None, 2**63), (str(-(2**63)), -(2**63), None)),
        *((str(2**64), None, None), ("9" * 5_000, None, None), ("x", None, None), ("1\n", None, None)),
    ],
)
def test_an_integer_has_at_most_64_bits_however_long_its_text(
    text: str, signed: int | None, unsigned: int | None
) -> None:
    assert (read_integer(text), read_unsigned(text)) == (signed, unsigned)


def test_a_number_must_fit_into_the_bits_that_are_asked_for() -> None:
    assert read_integer(str(2**31 - 1), 32) == 2**31 - 1
    assert read_integer(str(-(2**31)), 32) == -(2**31)
    assert read_integer(str(2**31), 32) is None


def test_seconds_wrap_around_where_go_s_nanoseconds_do() -> None:
    assert [duration_of(seconds) for seconds in (0, 30, -5, 2**33)] == [
        timedelta(seconds=seconds) for seconds in (0, 30, -5, 2**33)
    ]
    assert duration_of(2**63 - 1) == timedelta(seconds=-1)
    assert duration_of(-(2**63)) == timedelta()
