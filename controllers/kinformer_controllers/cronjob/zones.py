"""Time zones by name, and the moments at which their clocks show something.

A schedule is about what a clock on the wall shows, and twice a year that clock jumps: an hour is missing, or comes
twice. :func:`moment` settles such times as kube-controller-manager does, so that the same runs come of a schedule.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

__all__ = ("ZoneError", "later", "load_zone", "local_zone", "moment")

_LOCALTIME = Path("/etc/localtime")


class ZoneError(ValueError):
    """There is no time zone of that name."""


@lru_cache(maxsize=512)
def load_zone(name: str) -> tzinfo:
    """
    The zone of an IANA name; UTC for no name, the machine's own for ``Local``.

    :raises ZoneError: if nobody knows it
    """
    if name in ("", "UTC"):
        return UTC
    if name == "Local":
        return local_zone()
    if ".." in name or name[0] in "/\\":
        raise ZoneError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ZoneError(f"unknown time zone {name}") from None


def local_zone() -> tzinfo:
    """The zone of this machine: of the variable TZ, or of ``/etc/localtime``, or UTC."""
    name = os.environ.get("TZ")
    if name is not None:
        try:
            return load_zone(name.removeprefix(":")) if name != "Local" else UTC
        except ZoneError:
            return UTC
    try:
        with _LOCALTIME.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC


def moment(shown: datetime, zone: tzinfo) -> datetime:
    """
    When the clocks of `zone` show that, and the zone of `shown` does not count.

    What they show twice or never is reckoned with the offset of one side of the jump: the rule is that of Go's
    ``time.Date``, which decides it for Kubernetes.
    """
    shown = shown.replace(tzinfo=UTC, fold=0)
    guess = shown - _offset(shown, zone)
    return (shown - _offset(guess, zone)).astimezone(zone)


def later(at: datetime, distance: timedelta) -> datetime:
    """That much later in time, whatever the clocks show; Python's own sum turns the clock's hands."""
    return (at.astimezone(UTC) + distance).astimezone(at.tzinfo)


def _offset(at: datetime, zone: tzinfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()
