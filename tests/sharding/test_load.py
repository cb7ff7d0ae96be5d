"""Load: what a member says of itself in its Lease, and how uneven the members are."""

from __future__ import annotations

import pytest

from kinformer.sharding.load import Load, LoadMeter, skew


def test_a_load_survives_being_written_and_read() -> None:
    assert Load.parse(Load(7, 3).text) == Load(7, 3)


@pytest.mark.parametrize(
    "text", ["", "7", "{}x", '{"objects":-1}', '{"objects":1e99}', '{"syncs":99999999999999999999}']
)
def test_what_is_no_load_is_none(text: str) -> None:
    assert Load.parse(text) is None


def test_the_syncs_of_the_last_minute_alone_count() -> None:
    state = [0.0, 100]
    meter = LoadMeter(lambda: 5, lambda: int(state[1]), lambda: state[0])
    seen = []
    for state[:] in ([30.0, 110], [60.0, 130], [75.0, 131], [89.0, 131], [90.0, 131], [500.0, 131]):
        seen.append(meter.read())

    # What was begun until 30.0 counts until a minute after 30.0.
    assert seen == [Load(5, 10), Load(5, 30), Load(5, 31), Load(5, 31), Load(5, 21), Load(5, 0)]


@pytest.mark.parametrize(
    ("amounts", "uneven"), [((), 1.0), ((0, 0), 1.0), ((4, 4), 1.0), ((6, 2), 1.5), ((9, 0, 0), 3.0)]
)
def test_the_skew_is_the_largest_amount_over_an_even_share(amounts: tuple[int, ...], uneven: float) -> None:
    assert skew(amounts) == uneven
