"""The keys of a configuration file: one for each flag, made from the flags themselves.

The keys are made from a command's parameters. So a controller that declares an option gets a flag, an environment
variable and a key of the file at once, and the published schema always has the same keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import click

from kinformer.cli.flags import NAMES, VARIABLE, duration, variable_of

__all__ = ("ConfigKey", "ConfigValueError", "keys_of", "schema_of")

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_DURATION: Final = r"^(0|((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))+)$"
#: The default at the end of a help text, in brackets. The description in the schema leaves it out.
_SHOWN_DEFAULT: Final = re.compile(r"\s+\[[^]]*\]$")
_WORDS: Final[Mapping[type, str]] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


class ConfigValueError(ValueError):
    """A value of a configuration file is wrong for its key. The text begins with the value."""


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """
    A key of the configuration file.

    :param name: the name of the flag without its leading dashes, such as ``shutdown-grace``
    :param parameter: the command's parameter
    """

    name: str
    parameter: click.Option

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the values that the key takes."""
        found: dict[str, Any] = {"description": _SHOWN_DEFAULT.sub("", self.parameter.help or "")}
        type_ = self.parameter.type
        if type_ is NAMES:
            return {**found, "type": ["string", "array"], "items": {"type": "string"}}
        if self.parameter.multiple:
            scalar = {"type": ["boolean", "number", "string"]}
            return {**found, "type": "object", "additionalProperties": scalar}
        if self._is_duration:
            return {**found, "type": "string", "pattern": _DURATION}
        if isinstance(type_, click.Choice):
            return {**found, "enum": list(type_.choices)}
        kind = self._kind
        name = {bool: "boolean", int: "integer", float: "number"}.get(kind, "string")
        limits = {
            limit: value
            for limit, value in (("minimum", getattr(type_, "min", None)), ("maximum", getattr(type_, "max", None)))
            if value is not None
        }
        return {**found, "type": name, **limits}

    def read(self, value: Any) -> Any:
        """
        Check a value of the file.

        :param value: the value as the YAML parser gives it
        :return: the same value in the form that click takes
        :raises ConfigValueError: if the key does not take this value
        """
        if self.parameter.type is NAMES:
            names = self._names(value)
            return [names] * bool(names) if self.parameter.multiple else names
        if self.parameter.multiple:
            return self._pairs(value)
        if self._is_duration:
            if not isinstance(value, str) and value != 0:
                raise ConfigValueError(f"{_shown(value)}: want a duration like 500ms, 30s or 5m0s")
            value = str(value)
        elif not isinstance(self.parameter.type, click.Choice):
            self._check_kind(value)
        try:
            self.parameter.type.convert(value, self.parameter, None)
        except click.BadParameter as error:
            raise ConfigValueError(f"{_shown(value)}: {_wanted(error.message, self.parameter)}") from None
        return value

    def _names(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ConfigValueError(f"{_shown(value)}: want text, or a list of texts")
        return ",".join(value)

    def _pairs(self, value: Any) -> list[str]:
        if not isinstance(value, dict):
            raise ConfigValueError(f"{_shown(value)}: want options by their names")
        for name, one in value.items():
            if not isinstance(one, (bool, int, float, str)):
                raise ConfigValueError(f"{_shown(value)}: {name} is {_shown(one)}: want text, a number, true or false")
        return [f"{name}={_text(one)}" for name, one in value.items()]

    def _check_kind(self, value: Any) -> None:
        kind = self._kind
        fits = type(value) is kind or (kind is float and type(value) is int)
        if not fits:
            raise ConfigValueError(f"{_shown(value)}: want {_WORDS[kind]}")

    @property
    def _is_duration(self) -> bool:
        return getattr(self.parameter.type, "func", None) is duration

    @property
    def _kind(self) -> type:
        if self.parameter.is_flag or isinstance(self.parameter.type, click.types.BoolParamType):
            return bool
        if isinstance(self.parameter.type, click.types.IntParamType):
            return int
        if isinstance(self.parameter.type, click.types.FloatParamType):
            return float
        return str


def keys_of(parameters: Iterable[click.Parameter]) -> dict[str, ConfigKey]:
    """The keys of a command by name: one for each flag that the environment or a file can set."""
    keys = {}
    for parameter in parameters:
        if isinstance(parameter, click.Option) and variable_of(parameter) is not None:
            name = max(parameter.opts, key=len).removeprefix("--")
            keys[name] = ConfigKey(name, parameter)
    return keys


def schema_of(keys: Mapping[str, ConfigKey]) -> dict[str, Any]:
    """The JSON schema of a file with these keys."""
    return {
        "$schema": _DRAFT,
        "title": "kinformer manager",
        "description": "A file for `kinformer manager --config FILE`. Its keys are the names of flags without dashes. "
        f"An environment variable {VARIABLE}NAME, or the flag itself, comes before the file.",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: key.schema for name, key in sorted(keys.items())},
    }


def _shown(value: Any) -> str:
    """A value on one line, roughly as YAML writes it."""
    if value is None or isinstance(value, bool):
        return {None: "empty", True: "true", False: "false"}[value]
    return repr(value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wanted(message: str, parameter: click.Option) -> str:
    """What the parameter takes: made from click's error message where the type does not say it."""
    type_ = parameter.type
    if isinstance(type_, click.Choice):
        return f"want one of {', '.join(map(str, type_.choices))}"
    least, most = getattr(type_, "min", None), getattr(type_, "max", None)
    if least is not None and most is not None:
        return f"want {least} to {most}"
    if least is not None:
        return f"want at least {least}"
    if most is not None:
        return f"want at most {most}"
    return message.rpartition("want ")[1] + message.rpartition("want ")[2] or message
