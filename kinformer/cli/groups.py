"""Groups of flags that belong together: given to a command as one, and taken out of its options as one.

A group is a dataclass whose fields are named as click names the flags. Here is also what several groups have in common:
switches, durations, and the three times of whoever holds a Lease.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from kinformer.cli.flags import duration

if TYPE_CHECKING:
    from kinformer.leaderelection import ElectionOptions

__all__ = ("FlagGroup", "duration_flag", "lease_times_of", "switch", "with_flags")

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class FlagGroup:
    """What a group's flags have come to."""

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Self:
        """Take them out of a command's options."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls)})


def with_flags(command: F, *flags: Callable[[F], F]) -> F:
    """Give a command these flags. Its help shows them in this order."""
    for flag in reversed(flags):
        command = flag(command)
    return command


def switch(name: str, help_: str, *, default: bool | None = False) -> Callable[[F], F]:
    """A flag as Go has it for a bool: ``--name``, ``--name=true`` and ``--name=false``."""
    return click.option(name, type=bool, is_flag=False, flag_value=True, default=default, metavar="[=BOOL]", help=help_)


def duration_flag(name: str, default: str, help_: str) -> Callable[[F], F]:
    """A flag for a duration."""
    return click.option(name, type=duration, default=default, show_default=True, metavar="DURATION", help=help_)


def lease_times_of(flag: str, lease_duration: float, renew_deadline: float, retry_period: float) -> ElectionOptions:
    """
    The times of whoever holds a Lease, in seconds.

    :param flag: what the flags begin with that say these times
    :raises OptionError: if they do not fit together
    """
    from kinformer.leaderelection import ElectionOptionError, ElectionOptions
    from kinformer.manager import OptionError

    try:
        return ElectionOptions(lease_duration, renew_deadline, retry_period)
    except ElectionOptionError as error:
        raise OptionError(f"{flag}: {error}") from error
