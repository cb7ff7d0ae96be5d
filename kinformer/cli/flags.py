"""Flags in the form of kube-controller-manager: the same names, Go's durations, and switches that may have a value.

They are made from the options that controllers declare (:mod:`kinformer.options`).
"""

from __future__ import annotations

import os
import re
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import click

from kinformer.cli.modules import search_here
from kinformer.installed import installed
from kinformer.options import CONTROLLERS, Option, options_of
from kinformer.spec import declared_by

__all__ = (
    "NAMES",
    "VARIABLE",
    "ControllersCommand",
    "NumberRange",
    "NumberType",
    "PathType",
    "duration",
    "host",
    "shown_duration",
    "values_of_flags",
    "variable_of",
)

#: The prefix of the environment variables that set flags.
VARIABLE: Final = "KINFORMER_"
_ENVIRONMENT: Final = click.core.ParameterSource.ENVIRONMENT
#: The key under which a command's context has the options of the controllers that have flags.
_META: Final = "kinformer.options"
#: The key under which it has the controllers that the command line names as MODULE:NAME.
_NAMED: Final = "kinformer.named"
#: The key under which it has the error of the first of them that cannot be loaded.
_FAILED: Final = "kinformer.failed"
#: The parameter of a flag without an environment variable: it is meant for one call only.
_OF_THIS_CALL: Final = "dry_run"

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = "DURATION"  # the placeholder for the value in the help text
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def duration(text: str) -> float:
    """
    Parse a duration in Go's format (``5m0s``, ``500ms``).

    :return: seconds
    :raises click.BadParameter: if the text is not a duration
    """
    if text == "0":
        return 0.0
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise click.BadParameter(f"{text!r} is not a duration: want a number and a unit, like 500ms, 30s or 5m0s")
    return sum(float(part[1]) * _UNITS[part[2]] for part in parts)


def host(text: str) -> str:
    """
    Take an address to listen on. An empty one would be every address of the machine.

    :raises click.BadParameter: if it is empty
    """
    if not text:
        raise click.BadParameter("it is empty: want an address, such as 127.0.0.1")
    return text


class NumberType(click.types.FloatParamType):
    """A number, and not NaN: no limit would hold, as each comparison with NaN is false."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return number


class NumberRange(NumberType, click.FloatRange):
    """A number between bounds."""


class PathType(click.Path):
    """A file or a folder. An empty text is an error: it is a variable of the shell that is not set, not this folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("it is empty: want a path", param, ctx)
        return super().convert(value, param, ctx)


if TYPE_CHECKING:
    _OfText = click.ParamType[str]
else:
    _OfText = click.ParamType  # older versions of click have no type parameter here


class _Names(_OfText):
    """Names, separated by commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)


#: The type of a flag that takes names separated by commas. A configuration file may have a list instead.
NAMES: Final = _Names()


def variable_of(parameter: click.Parameter) -> str | None:
    """The environment variable that sets a flag, None if there is none."""
    # Flags without a value for the command, such as --help and --config, have no variable here.
    if not isinstance(parameter, click.Option) or not parameter.expose_value or parameter.name == _OF_THIS_CALL:
        return None
    return VARIABLE + max(parameter.opts, key=len).removeprefix("--").replace("-", "_").upper()


class ControllersCommand(click.Command):
    """
    A command that has the flags of all installed controllers, after its own flags, and of the controllers that
    ``--controllers`` names as ``MODULE:NAME`` on the command line or in the environment.

    Each flag can be set in the environment as well: ``KINFORMER_SHUTDOWN_GRACE`` for ``--shutdown-grace``.

    The controllers are loaded when this command is parsed, so that other commands need no time for it. A controller
    that cannot be loaded has no flags. The error is shown when it is run.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        *others, help_ = own if ctx.command.add_help_option else (*own, None)
        flags = [*others, *(_flag(it) for it in _options(ctx))]
        for parameter in flags:
            parameter.envvar = parameter.envvar or variable_of(parameter)
        return [*flags, help_] if help_ is not None else flags

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_NAMED] = _named(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if failure := ctx.meta.get(_FAILED):  # it may be one of that controller
                raise click.UsageError(failure, ctx) from error
            raise
        except click.BadParameter as error:
            # click would name the flag, but the value comes from the environment.
            if error.param is not None and ctx.get_parameter_source(error.param.name or "") is _ENVIRONMENT:
                error.param_hint = f"{variable_of(error.param)} of the environment"
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The names that ``--controllers`` takes."""
        from kinformer.manager.loading import builtin_controllers, known_controllers  # only the help text needs it

        known = known_controllers()
        builtin = builtin_controllers(known)
        others = [name for name in known if name not in builtin]
        with formatter.section("Controllers"):
            for title, names in (("built in:        ", builtin), ("other packages:  ", others)):
                indent = " " * formatter.current_indent
                # Not write_dl(): it breaks names at their hyphens.
                text = textwrap.fill(
                    ", ".join(names) or "none",
                    formatter.width,
                    initial_indent=indent + title,
                    subsequent_indent=" " * len(indent + title),
                    break_long_words=False,
                    break_on_hyphens=False,
                )
                formatter.write(f"{text}\n")


def values_of_flags(ctx: click.Context) -> dict[str, Any]:
    """The values of all flags of a command, by their names without leading dashes. Durations are in Go's format."""
    defaults = {it.flag: it.default for it in _options(ctx)}
    values: dict[str, Any] = {}
    for param in ctx.command.get_params(ctx):
        if not isinstance(param, click.Option) or param.name not in ctx.params:
            continue
        flag = max(param.opts, key=len)
        value = ctx.params[param.name]
        if value is None:
            value = defaults.get(flag)
        if param.metavar == _DURATION and isinstance(value, float):
            value = shown_duration(value)
        values[flag.lstrip("-")] = value
    return values


def _named(args: list[str]) -> list[str]:
    """What a command line, or else the environment, names as MODULE:NAME in its ``--controllers``."""
    given = os.environ.get(f"{VARIABLE}CONTROLLERS", "")
    for before, argument in pairwise(["", *args]):
        if before == "--controllers":
            given = argument
        elif argument.startswith("--controllers="):
            given = argument.partition("=")[2]
    return [name.strip() for name in given.split(",") if ":" in name]


def _options(ctx: click.Context) -> list[Option]:
    """The options of the controllers that have flags, each name once, in the order of the controllers' names."""
    # Cached, because click asks for the parameters of a command several times.
    options: list[Option] | None = ctx.meta.get(_META)
    if options is None:
        options = ctx.meta[_META] = _found(ctx)
    return options


def _found(ctx: click.Context) -> list[Option]:
    entries = installed(CONTROLLERS)
    if named := ctx.meta.get(_NAMED):
        from kinformer.manager.loading import ControllerLoadError, find_controllers  # it loads the manager

        search_here()
        try:
            names, known = find_controllers(named)
            entries = [*entries, *(known[name] for name in names)]
        except ControllerLoadError as error:
            ctx.meta[_FAILED] = str(error)
    found: dict[str, Option] = {}
    for entry in entries:
        try:
            type_ = declared_by(entry.load(), "options")
            declared = options_of(type_) if type_ is not None else ()
        except Exception:  # importing runs code of other packages, which may raise anything
            continue
        for it in declared:
            found.setdefault(it.name, it)
    return list(found.values())


def _flag(it: Option) -> click.Option:
    """
    Make the flag of an option. Its value is None if it is not given, so that the controller uses its own default.
    The help text shows this default in brackets.
    """
    kind = type(it.default)
    help_ = f"{it.help}  [{_shown(it)}]"
    if kind is bool:
        # As with Go's flags, --name, --name=true and --name=false are valid.
        return click.Option(
            [it.flag], type=bool, is_flag=False, flag_value=True, default=None, metavar="[=BOOL]", help=help_
        )
    return click.Option([it.flag], type=_type_of(it, kind), metavar=_metavar(it), default=None, help=help_)


def _type_of(it: Option, kind: type) -> Any:
    if it.is_duration:
        return duration
    if it.choices:
        return click.Choice(it.choices)
    if it.minimum is None and it.maximum is None:
        return kind
    if kind is int:
        least, most = (None if limit is None else int(limit) for limit in (it.minimum, it.maximum))
        return click.IntRange(least, most)
    return NumberRange(it.minimum, it.maximum)


def _metavar(it: Option) -> str | None:
    return _DURATION if it.is_duration else None


def _shown(it: Option) -> str:
    if it.is_duration:
        return shown_duration(float(it.default))
    if isinstance(it.default, bool):
        return str(it.default).lower()
    return str(it.default) if it.default != "" else "none"


def shown_duration(seconds: float) -> str:
    """Seconds as Go shows a duration: ``5m0s``, ``500ms``."""
    if seconds == 0:
        return "0s"
    if seconds < 1:
        return f"{seconds * 1000:g}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    shown = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{shown}{rest:g}s"
