from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from kinformer.cli.flags import controller_flags, duration
from kinformer.cli.manager import _parsed
from kinformer.manager import OptionError


def given(*arguments: str) -> dict[str, Any]:
    """What a command is called with, but for what was not given."""
    called: dict[str, Any] = {}

    @click.command()
    @controller_flags
    def command(**options: Any) -> None:
        called.update(options)

    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    return {name: value for name, value in called.items() if value is not None}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("500ms", 0.5), ("5m0s", 300), ("1h2m3.5s", 3723.5), (".5s", 0.5), ("10us", 1e-5), ("7ns", 7e-9)],
)
def test_durations_are_gos(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "5 m", "m", "1d", "-1s", "1s2"])
def test_what_is_no_duration_is_an_error_that_says_what_is(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration"):
        duration(text)


def test_flags_that_are_not_given_are_left_to_the_controllers() -> None:
    assert given() == {}


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("--enable-garbage-collector", True),
        ("--enable-garbage-collector=true", True),
        ("--enable-garbage-collector=false", False),
    ],
)
def test_a_switch_may_be_given_a_value(argument: str, value: bool) -> None:
    assert given(argument, "--concurrent-rc-syncs", "3") == {
        "enable_garbage_collector": value,
        "concurrent_rc_syncs": 3,
    }


def test_options_of_other_controllers_are_what_they_look_like() -> None:
    parsed = _parsed(("my-workers=3", "name=3x", "on=true", "list=[1]", "empty="))

    assert parsed == {"my_workers": 3, "name": "3x", "on": True, "list": "[1]", "empty": ""}


def test_an_option_that_is_not_a_name_and_a_value_is_an_error() -> None:
    with pytest.raises(OptionError, match="'workers': want NAME=VALUE"):
        _parsed(("workers",))
