"""Time zones by name, and the conversion of local times to points in time.

A schedule is given in local time. Twice a year the local clock changes: an hour is missing, or comes twice.
:func:`moment` converts such times in the same way as kube-controller-manager, so that a schedule has the same runs.
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
    Return the zone with an IANA name; UTC for an empty name, and the machine's zone for ``Local``.

    :raises ZoneError: if there is no such zone
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
    """
    Return the zone of this machine: that of the variable TZ, else that of ``/etc/localtime``, else UTC.

    The variable has the name of a zone or the path of a file, as in Go. If it has anything else, the zone is UTC.
    """
    return _zone_of_variable(os.environ.get("TZ"))


@lru_cache(maxsize=16)
def _zone_of_variable(value: str | None) -> tzinfo:
    name = str(_LOCALTIME) if value is None else value.removeprefix(":")
    try:
        if not name.startswith("/"):
            return load_zone(name) if name != "Local" else UTC
        with Path(name).open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):  # also a ZoneError
        return UTC


def moment(shown: datetime, zone: tzinfo) -> datetime:
    """
    Return the point in time at which a clock in `zone` shows the local time `shown`. The zone of `shown` is ignored.

    A local time that comes twice or never is converted with the offset before or after the clock change. The rule is
    that of Go's ``time.Date``, which Kubernetes uses.
    """
    shown = shown.replace(tzinfo=UTC, fold=0)
    guess = shown - _offset(shown, zone)
    return (shown - _offset(guess, zone)).astimezone(zone)


def later(at: datetime, distance: timedelta) -> datetime:
    """Add a duration to a point in time. (Python's own addition of a timedelta adds to the local time instead.)"""
    return (at.astimezone(UTC) + distance).astimezone(at.tzinfo)


def _offset(at: datetime, zone: tzinfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()
