"""Groups of flags that belong together. A command gets them, and takes their values, all at once.

A group is a dataclass whose fields have the names that click gives the flags. This module also has the parts that
several groups share: switches, durations, and the three times of a Lease.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import click

from kinformer.cli.flags import duration

if TYPE_CHECKING:
    from kinformer.leaderelection import ElectionOptions

__all__ = ("F", "FlagGroup", "duration_flag", "fence_flag", "fenced_by", "lease_times_of", "switch", "with_flags")

#: A command, or the function that becomes one.
F = TypeVar("F", bound=Callable[..., Any])

_RESOURCE: Final = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9][a-z0-9-]*)*")


@dataclass(frozen=True, slots=True)
class FlagGroup:
    """The base of the groups: the values of the flags."""

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Self:
        """
        Make the group from a command's options, and remove its values from them.

        A flag that the command does not have gets the default of its field.
        """
        return cls(**{field.name: options.pop(field.name) for field in fields(cls) if field.name in options})


def with_flags(command: F, *flags: Callable[[F], F]) -> F:
    """Add these flags to a command. Its help shows them in this order."""
    for flag in reversed(flags):
        command = flag(command)
    return command


def switch(name: str, help_: str, *, default: bool | None = False) -> Callable[[F], F]:
    """A boolean flag in Go's form: ``--name``, ``--name=true`` and ``--name=false``."""
    return click.option(name, type=bool, is_flag=False, flag_value=True, default=default, metavar="[=BOOL]", help=help_)


def duration_flag(name: str, default: str, help_: str) -> Callable[[F], F]:
    """A flag for a duration."""
    return click.option(name, type=duration, default=default, show_default=True, metavar="DURATION", help=help_)


def fence_flag(name: str) -> Callable[[F], F]:
    """A flag for the resources whose writes carry the term of a Lease."""
    return click.option(
        name,
        default="",
        metavar="RESOURCES",
        help="Resources (pods,deployments.apps) whose writes carry the term of the Lease, so that a "
        "ValidatingAdmissionPolicy can refuse those that arrive too late.  [none]",
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
