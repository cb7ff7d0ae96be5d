from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import click
import pytest
from click.testing import CliRunner

from kinformer.cli.command import main
from kinformer.cli.flags import ControllersCommand, duration, shown_duration
from kinformer.cli.manager import _parsed
from kinformer.manager import OptionError, known_controllers
from kinformer.options import duration as option_duration
from kinformer.options import option, options_of, workers
from kinformer.spec import ControllerSpec


def given(*arguments: str) -> dict[str, Any]:
    """What a command is called with, but for what was not given."""
    called: dict[str, Any] = {}

    @click.command(cls=ControllersCommand)
    def command(**options: Any) -> None:
        called.update(options)

    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    return {name: value for name, value in called.items() if value is not None}


def help_of(monkeypatch: pytest.MonkeyPatch, **installed: Any) -> str:
    """The help of a command where these controllers are installed."""
    entries = [FakeEntry(name, factory) for name, factory in installed.items()]
    monkeypatch.setattr("kinformer.cli.flags.installed", lambda group: entries)
    done = CliRunner().invoke(ControllersCommand("command", callback=lambda **_: None), ["--help"])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


class FakeEntry:
    def __init__(self, name: str, factory: Any) -> None:
        self.name = name
        self._factory = factory

    def load(self) -> Any:
        if isinstance(self._factory, Exception):
            raise self._factory
        return self._factory


@dataclass(frozen=True)
class FleetOptions:
    concurrent_fleet_syncs: int = workers(5, "fleets")
    fleet_period: float = option_duration(90.0, "How often.")
    fleet_colour: str = option("red", "Which.", choices=("red", "blue"))
    fleet_share: float = option(0.5, "How much.", maximum=1.0)
    fleet_sails: bool = option(False, "Whether.")
    fleet_name: str = option("", "What it is called.")


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


def test_an_option_without_a_name_and_a_value_is_an_error() -> None:
    with pytest.raises(OptionError, match="'workers': want NAME=VALUE"):
        _parsed(("workers",))


def test_a_controllers_flags_and_their_help_are_made_from_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = help_of(monkeypatch, fleet=ControllerSpec(name="fleet", factory="nowhere:at_all", options=FleetOptions))

    assert "--concurrent-fleet-syncs INTEGER RANGE fleets synced at once. [5] [x>=1]" in shown
    assert "--fleet-period DURATION How often. [1m30s]" in shown
    assert "--fleet-colour [red|blue] Which. [red]" in shown
    assert "--fleet-share NUMBER How much. [0.5] [x<=1.0]" in shown
    assert "--fleet-sails [=BOOL] Whether. [false]" in shown
    assert "--fleet-name TEXT What it is called. [none]" in shown


@click.command(cls=ControllersCommand)
@click.option("--controllers")
def naming(**options: Any) -> None:
    click.echo(f"{options.get('fleet_period')} {options.get('fleet_colour')}")


NAMED = "tests.cli.test_flags:FLEET"
FLEET = ControllerSpec(name="fleet", factory="nowhere:make", options=FleetOptions)


@pytest.mark.parametrize("controllers", [("--controllers", f"deployment,{NAMED}"), (f"--controllers={NAMED}",)])
def test_a_controller_named_by_its_place_has_its_flags(controllers: tuple[str, ...]) -> None:
    done = CliRunner().invoke(naming, [*controllers, "--fleet-period", "7s", "--fleet-colour=blue"])

    assert (done.exit_code, done.output) == (0, "7.0 blue\n")


def test_a_controller_of_the_environment_has_its_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINFORMER_CONTROLLERS", NAMED)

    assert CliRunner().invoke(naming, ["--fleet-colour", "blue"]).output == "None blue\n"


def test_a_flag_of_a_controller_that_is_not_there_names_it() -> None:
    done = CliRunner().invoke(naming, ["--controllers", "nowhere:Fleet", "--fleet-period", "7s"])

    assert done.exit_code == 2
    assert "cannot be loaded from nowhere:Fleet: ModuleNotFoundError" in done.output


def test_an_unloadable_controller_does_not_take_anothers_flags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = help_of(
        monkeypatch,
        broken=RuntimeError("no"),
        plain=lambda context: None,
        fleet=ControllerSpec(name="fleet", factory="nowhere:at_all", options=FleetOptions),
    )

    assert "--fleet-period" in shown


@pytest.mark.parametrize("seconds", [0.0, 0.5, 7.0, 90.0, 300.0, 3600.0, 43200.5])
def test_durations_are_shown_as_they_are_read(seconds: float) -> None:
    assert duration(shown_duration(seconds)) == seconds


def test_two_controllers_that_share_an_option_declare_it_in_the_same_way() -> None:
    declared: dict[str, Any] = {}
    for entry in entry_points(group="kinformer.controllers"):
        options = getattr(entry.load(), "options", None)
        for it in options_of(options) if options is not None else ():
            assert declared.setdefault(it.name, it) == it


def test_the_managers_help_names_built_in_and_other_controllers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kinformer.manager.loading.known_controllers", lambda: dict.fromkeys(("fleet", "job")))
    monkeypatch.setattr("kinformer.manager.loading.builtin_controllers", lambda known: ("job",))

    assert help_of(monkeypatch).endswith("Controllers: built in: job other packages: fleet")


def narrow_help(*command: str) -> str:
    done = CliRunner().invoke(main, [*command, "--help"], terminal_width=80)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_help_cuts_no_sentence_about_a_command() -> None:
    assert "..." not in narrow_help().partition("Commands:")[2]
    assert "..." not in narrow_help("debug").partition("Commands:")[2]


def test_the_help_breaks_no_name_of_a_controller() -> None:
    _, _, named = narrow_help("manager").partition("Controllers:")

    assert [name for name in known_controllers() if name not in named] == []


def test_the_help_shows_no_range_without_bounds() -> None:
    assert "=None" not in narrow_help("manager")


def test_the_help_of_the_manager_loads_no_controller() -> None:
    script = (
        "import sys, json; from click.testing import CliRunner; from kinformer.cli.command import main;"
        "CliRunner().invoke(main, ['manager', '--help']);"
        "print(json.dumps([name for name in sys.modules if name.startswith('kinformer_controllers.')]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    loaded = json.loads(done.stdout)
    assert "kinformer_controllers.replicaset.spec" in loaded
    # Packages and options: the parts that several controllers share are not loaded either, but for their options.
    assert [name for name in loaded if name.endswith(".controller")] == []
    assert {name for name in loaded if ".shared" in name} <= {
        "kinformer_controllers.shared",
        "kinformer_controllers.shared.options",
    }


def test_an_empty_path_is_an_error_and_not_this_folder() -> None:
    done = CliRunner().invoke(main, ["manager", "--kubeconfig", ""])

    assert done.exit_code == 2
    assert "Invalid value for '--kubeconfig': it is empty: want a path" in done.output


@pytest.mark.parametrize("command", ["apiserver", "quota-webhook"])
def test_an_empty_host_is_an_error_and_not_every_address(command: str) -> None:
    done = CliRunner().invoke(main, [command, "--host", ""])

    assert done.exit_code == 2
    assert "Invalid value for '--host': it is empty: want an address, such as 127.0.0.1" in done.output


@pytest.mark.parametrize(
    "command", [["manager", "--kube-api-qps"], ["manager", "--record-minutes"], ["demo", "--timeout"]]
)
def test_what_is_no_number_is_an_error_of_the_flag(command: list[str]) -> None:
    done = CliRunner().invoke(main, [*command, "nan"])

    assert done.exit_code == 2
    assert f"Invalid value for '{command[-1]}': 'nan' is not a valid number." in done.output
