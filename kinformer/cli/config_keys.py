"""What a configuration file may say: one key for each flag, made from the flags themselves.

The keys are read from a command's parameters, so a controller that declares an option has a flag, a variable of the
environment and a key of the file at once, and the published schema cannot lag behind.
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
#: What a help text has for a default, which the schema says in its own way.
_SHOWN_DEFAULT: Final = re.compile(r"\s+\[[^]]*\]$")
_WORDS: Final[Mapping[type, str]] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


class ConfigValueError(ValueError):
    """A value is not what its key takes; the text begins with what the value is."""


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """
    :param name: as the file has it, which is the flag's without dashes: ``shutdown-grace``
    :param parameter: the command's parameter
    """

    name: str
    parameter: click.Option

    @property
    def schema(self) -> dict[str, Any]:
        """What a value has to be, as a JSON schema."""
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
        A value of the file as click takes it.

        :raises ConfigValueError: if it is not what the key takes
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
    """The keys of a command, by name: one for each of its flags that may be set from outside."""
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
        "description": f"What `kinformer manager --config FILE` reads: flags, {VARIABLE}NAME in the environment.",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: key.schema for name, key in sorted(keys.items())},
    }


def _shown(value: Any) -> str:
    """A value as YAML would have it, on one line."""
    if value is None or isinstance(value, bool):
        return {None: "empty", True: "true", False: "false"}[value]
    return repr(value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wanted(message: str, parameter: click.Option) -> str:
    """What click complains of, as what is wanted."""
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
