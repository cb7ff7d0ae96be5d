"""Groups of flags that belong together. A command gets them, and takes their values, all at once.

A group is a dataclass. Each of its fields declares a flag: the name of the field is that of the flag, and the value of
the field is that of the flag. This module also has what several groups share: kinds of flags, and the three times of a
Lease.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import click

from kinformer.cli.flags import NAMES, PathType, duration

if TYPE_CHECKING:
    from kinformer.leaderelection import ElectionOptions

__all__ = (
    "F",
    "FlagGroup",
    "duration_flag",
    "fence_flag",
    "fenced_by",
    "flag",
    "lease_times_of",
    "names_flag",
    "path_flag",
    "switch",
)

#: A command, or the function that becomes one.
F = TypeVar("F", bound=Callable[..., Any])

_RESOURCE: Final = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9][a-z0-9-]*)*")


@dataclass(frozen=True, slots=True)
class FlagGroup:
    """The base of the groups: the values of the flags."""

    @classmethod
    def add_to(cls, command: F) -> F:
        """Add the flags to a command. Its help shows them in the order of the fields."""
        for it in reversed(fields(cls)):
            settings = dict(it.metadata)
            names = settings.pop("name", f"--{it.name.replace('_', '-')}").split()
            command = click.option(*names, it.name, **settings)(command)
        return command

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Self:
        """
        Make the group from a command's options, and remove its values from them.

        A flag that the command does not have gets the default of its field.
        """
        return cls(**{it.name: options.pop(it.name) for it in fields(cls) if it.name in options})


def flag(default: Any, help_: str, /, **settings: Any) -> Any:
    """
    A field of a group that declares a flag. The help shows the default, unless that is empty.

    :param settings: arguments for :func:`click.option`, and `name` if the flag's name is not that of the field,
        or it has several
    """
    return field(
        default=default, metadata={"default": default, "show_default": bool(default), "help": help_, **settings}
    )


def switch(help_: str, *, default: bool | None = False) -> Any:
    """A boolean flag in Go's form: ``--name``, ``--name=true`` and ``--name=false``."""
    go_form = {"type": bool, "is_flag": False, "flag_value": True, "metavar": "[=BOOL]"}
    return flag(default, help_, show_default=False, **go_form)


def duration_flag(default: str, help_: str) -> Any:
    """A flag for a duration."""
    return flag(duration(default), help_, type=duration, default=default, metavar="DURATION")


def names_flag(default: str, metavar: str, help_: str) -> Any:
    """A flag for names with commas between."""
    return flag(default, help_, type=NAMES, metavar=metavar)


def path_flag(help_: str, *, dir_okay: bool = True, **settings: Any) -> Any:
    """
    A flag for a file or a folder. The value is None if it is not given.

    :param dir_okay: whether it may be a folder
    :param settings: as for :func:`flag`
    """
    return flag(None, help_, type=PathType(path_type=Path, dir_okay=dir_okay), **settings)


def fence_flag() -> Any:
    """A flag for the resources whose writes carry the term of a Lease."""
    return flag(
        "",
        "Resources (pods,deployments.apps) whose writes carry the term of the Lease, so that a "
        "ValidatingAdmissionPolicy can refuse those that arrive too late.  [none]",
        metavar="RESOURCES",
    )


def fenced_by(flag: str, text: str) -> tuple[str, ...]:
    """
    The resources that such a flag names.

    :raises OptionError: if a name is not of the form PLURAL or PLURAL.GROUP
    """
    from kinformer.manager import OptionError

    resources = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in resources:
        if not _RESOURCE.fullmatch(name):
            raise OptionError(f"{flag} has {name!r}: want plural names and groups, such as pods,deployments.apps")
    return resources


def lease_times_of(flag: str, lease_duration: float, renew_deadline: float, retry_period: float) -> ElectionOptions:
    """
    The times for holding a Lease, in seconds.

    :param flag: the common prefix of the three flags, for errors
    :raises OptionError: if the times do not fit together
    """
    from kinformer.leaderelection import ElectionOptionError, ElectionOptions
    from kinformer.manager import OptionError

    try:
        return ElectionOptions(lease_duration, renew_deadline, retry_period)
    except ElectionOptionError as error:
        raise OptionError(f"{flag}: {error}") from error
