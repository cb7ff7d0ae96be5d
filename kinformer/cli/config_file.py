"""``--config FILE``: flags in a YAML file. An error names the line in the file.

The file is one mapping from flags, without their leading dashes, to values::

    controllers: [deployment, replicaset]
    concurrent-deployment-syncs: 10
    leader-elect: true
    shutdown-grace: 1m

The command line comes first, then the environment, then the file, then the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinformer.cli.config_keys import ConfigKey, ConfigValueError, keys_of
from kinformer.cli.flags import PathType

if TYPE_CHECKING:
    import yaml

__all__ = ("ConfigError", "ConfigFile", "config_flag", "read_config")

#: The key under which a command's context has its configuration file.
_META = "kinformer.config"


class ConfigError(click.UsageError):
    """
    A configuration file cannot be read, or has a wrong key or value. The text names the file, the line and the key.
    """


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """
    The contents of a configuration file.

    :param path: the file
    :param values: the values in the form that click takes, by the names of the parameters
    :param lines: the line numbers, by the same names
    """

    path: Path
    values: Mapping[str, Any]
    lines: Mapping[str, int]

    @classmethod
    def of(cls, context: click.Context) -> ConfigFile | None:
        """The configuration file of a command, None if it has none."""
        found: ConfigFile | None = context.meta.get(_META)
        return found


def config_flag(command: Any) -> Any:
    """Add the flag ``--config`` to a command."""
    return click.option(
        "--config",
        type=PathType(dir_okay=False, path_type=Path),
        is_eager=True,  # the defaults of the other flags come from it
        callback=_apply,
        expose_value=False,
        envvar="KINFORMER_CONFIG",
        metavar="FILE",
        help="Flags in YAML, by their names without dashes. The command line and the environment come before it; "
        "`kinformer config schema` says what it may have.",
    )(command)


def _apply(context: click.Context, _: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    config = read_config(path, keys_of(context.command.get_params(context)))
    context.meta[_META] = config
    context.default_map = {**(context.default_map or {}), **config.values}


def read_config(path: Path, keys: Mapping[str, ConfigKey]) -> ConfigFile:
    """
    Read a file.

    :param path: the file
    :param keys: the keys that it may have
    :raises ConfigError: if the file cannot be read or is not YAML; if a key is unknown or there twice; or if a key does
        not take its value
    """
    import yaml  # only where there is a file

    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not text: {error.reason} at byte {error.start}") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise ConfigError(f"{path}{line}: is not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is not YAML: {error}") from error
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    if node is None:
        return ConfigFile(path, values, lines)
    if not isinstance(node, yaml.MappingNode):
        where = f"{path}, line {node.start_mark.line + 1}"
        raise ConfigError(f"{where}: want flags by their names, like 'leader-elect: true'")
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        name = key_node.value if isinstance(key_node, yaml.ScalarNode) else ""
        key = keys.get(name)
        if key is None:
            raise ConfigError(f"{path}, line {line}: {_unknown(name, keys)}")
        parameter = key.parameter.name or ""
        if parameter in values:
            raise ConfigError(f"{path}, line {line}: {name} stands in line {lines[parameter]} already")
        try:
            values[parameter] = key.read(_constructed(value_node))
        except ConfigValueError as error:
            raise ConfigError(f"{path}, line {value_node.start_mark.line + 1}: {name} is {error}") from None
        lines[parameter] = line
    return ConfigFile(path, values, lines)


def _constructed(node: yaml.Node) -> Any:
    import yaml

    loader = yaml.SafeLoader("")
    try:
        return loader.construct_object(node, deep=True)
    except yaml.YAMLError as error:
        raise ConfigValueError(f"not understood: {error}") from error
    finally:
        loader.dispose()


def _unknown(name: str, keys: Mapping[str, ConfigKey]) -> str:
    close = get_close_matches(name.replace("_", "-"), keys, n=1)
    return f"unknown key {name!r}" + (f": want {close[0]!r}?" if close else ": `kinformer config schema` lists them")
