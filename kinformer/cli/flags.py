"""Flags as kube-controller-manager has them: its names, its durations, its switches that may be given a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ("controller_flags", "duration")

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def duration(text: str) -> float:
    """
    A duration in Go's words (``5m0s``, ``500ms``), as seconds.

    :raises click.BadParameter: if it is none
    """
    if text == "0":
        return 0.0
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise click.BadParameter(f"{text!r} is not a duration: want a number and a unit, like 500ms, 30s or 5m0s")
    return sum(float(part[1]) * _UNITS[part[2]] for part in parts)


def _switch(name: str, help_: str) -> Callable[[F], F]:
    """``--name``, ``--name=true`` and ``--name=false``, as Go's flags have it."""
    return click.option(name, type=bool, is_flag=False, flag_value=True, default=None, metavar="[=BOOL]", help=help_)


def _workers(name: str, what: str, default: int) -> Callable[[F], F]:
    return click.option(name, type=click.IntRange(1), help=f"{what} synced at once.  [{default}]")


# What is not given is not passed on: the defaults, in brackets, are the controllers' own.
_FLAGS: tuple[Callable[[Any], Any], ...] = (
    _workers("--concurrent-rc-syncs", "ReplicationControllers", 5),
    _switch(
        "--enable-garbage-collector",
        "Whether the cluster's garbage collector runs: without it no pod is adopted or released.  [true]",
    ),
    _workers("--concurrent-resource-quota-syncs", "ResourceQuotas", 5),
    click.option("--resource-quota-sync-period", type=duration, help="How often every quota is recounted.  [5m0s]"),
    _workers("--concurrent-endpoint-syncs", "Services' Endpoints", 5),
    click.option(
        "--endpoint-updates-batch-period", type=duration, help="How long pods' changes of a Service are gathered.  [0s]"
    ),
    _workers("--concurrent-service-endpoint-syncs", "Services' EndpointSlices", 5),
    click.option("--max-endpoints-per-slice", type=click.IntRange(1, 1000), help="At most so many.  [100]"),
    click.option(
        "--endpointslice-updates-batch-period",
        type=duration,
        help="How long pods' changes of a Service are gathered.  [0s]",
    ),
)


def controller_flags(command: F) -> F:
    """Give a command the flags of the project's controllers; they are passed on as keyword arguments."""
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command
