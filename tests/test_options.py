from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kinformer.options import OptionError, duration, option, options_of, read_options, workers


@dataclass(frozen=True)
class FleetOptions:
    concurrent_fleet_syncs: int = workers(5, "fleets")
    fleet_period: float = duration(300.0, "How often.")
    fleet_size: int = option(10, "How many.", minimum=1, maximum=20)
    fleet_colour: str = option("red", "Which.", choices=("red", "blue"))
    fleet_sails: bool = option(True, "Whether.")


def test_what_is_not_given_has_its_default() -> None:
    assert read_options(FleetOptions, {}) == FleetOptions(
        concurrent_fleet_syncs=5, fleet_period=300.0, fleet_size=10, fleet_colour="red", fleet_sails=True
    )
    assert read_options(FleetOptions, {"fleet_size": None}).fleet_size == 10


def test_a_given_option_is_taken_and_whole_numbers_are_seconds() -> None:
    options = read_options(FleetOptions, {"fleet_size": 20, "fleet_period": 7, "fleet_sails": False, "others": 1})

    assert (options.fleet_size, options.fleet_period, options.fleet_sails) == (20, 7.0, False)
    assert type(options.fleet_period) is float


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("fleet_size", "many", "option fleet_size is 'many': want int"),
        ("fleet_size", True, "option fleet_size is True: want int"),
        ("fleet_size", 0, "option fleet_size is 0: want at least 1"),
        ("fleet_size", 21, "option fleet_size is 21: want at most 20"),
        ("concurrent_fleet_syncs", 0, "option concurrent_fleet_syncs is 0: want at least 1"),
        ("fleet_period", -1.0, r"option fleet_period is -1\.0: want at least 0"),
        ("fleet_colour", "green", "option fleet_colour is 'green': want one of 'red', 'blue'"),
        ("fleet_sails", 1, "option fleet_sails is 1: want bool"),
    ],
)
def test_what_does_not_fit_is_named(name: str, value: Any, complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        read_options(FleetOptions, {name: value})


def test_options_know_their_flags() -> None:
    assert [it.flag for it in options_of(FleetOptions)][:2] == ["--concurrent-fleet-syncs", "--fleet-period"]


def test_a_field_that_is_no_option_is_named() -> None:
    @dataclass
    class Odd:
        size: int = 3

    with pytest.raises(TypeError, match=r"Odd\.size is not an option"):
        options_of(Odd)
