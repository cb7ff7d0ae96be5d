"""Schedules of CronJobs: parsing them, and computing the times of their runs.

The text has five fields (minute, hour, day of month, month, day of week), or is a word such as ``@hourly``, or
``@every 90m``, with a duration in Go's notation. It may begin with ``TZ=`` or ``CRON_TZ=`` and a time zone. The parser
accepts the same texts as kube-controller-manager, with the same special cases: ``*/1`` counts as a star, ``5/15`` runs
to the end of the range, and an empty list never matches. Its errors have the same texts, because users see them in
Events. No library on PyPI gives the same times around clock changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from kinformer.meta.integers import read_integer
from kinformer.schedules.zones import ZoneError, later, load_zone, local_zone, moment

__all__ = ("DurationError", "Every", "Schedule", "ScheduleError", "parse_duration", "parse_schedule")

_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.ASCII)
_MOST = 2**63 - 1

#: The result of :meth:`Schedule.next` if there is no run within five years.
_NEVER: Final = None

_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
#: The search for the next run ends after this many years.
_YEARS = 5

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)


class DurationError(ValueError):
    """A text is not a valid duration."""


def parse_duration(text: str) -> timedelta:
    """
    Parse a duration. Parts of a microsecond are dropped.

    :raises DurationError: if it is not valid; the error has Go's text
    """
    rest, sign = text, 1
    if rest[:1] in ("+", "-"):
        sign = -1 if rest[0] == "-" else 1
        rest = rest[1:]
    if rest == "0":
        return timedelta()
    if not rest:
        raise DurationError(f'time: invalid duration "{text}"')
    nanoseconds = 0
    while rest:
        part = _PART.match(rest)
        if part is None or not (part[1] or part[2]):
            raise DurationError(f'time: invalid duration "{text}"')
        whole, fraction, unit = part[1], part[2] or "", part[3]
        if not unit:
            raise DurationError(f'time: missing unit in duration "{text}"')
        if unit not in _UNITS:
            raise DurationError(f'time: unknown unit "{unit}" in duration "{text}"')
        nanoseconds += int(Fraction(int(whole + fraction), 10 ** len(fraction)) * _UNITS[unit])
        if nanoseconds > _MOST:
            raise DurationError(f'time: invalid duration "{text}"')
        rest = rest[part.end() :]
    return timedelta(microseconds=sign * (nanoseconds // 1000))


class ScheduleError(ValueError):
    """A text is not a valid schedule."""


class Schedule(Protocol):
    """A schedule."""

    def next(self, after: datetime) -> datetime | None:
        """Return the first run after `after`; None if there is none within five years."""


@dataclass(frozen=True, slots=True)
class Every:
    """
    A schedule whose runs have a fixed distance.

    :param delay: the distance: whole seconds, at least one
    """

    delay: timedelta

    def next(self, after: datetime) -> datetime | None:
        """See :meth:`Schedule.next`."""
        return later(after.replace(microsecond=0), self.delay)


@dataclass(frozen=True, slots=True)
class _Fields:
    """
    A schedule of the times at which a clock in the zone shows one of these minutes, hours, days and months.

    :param days: days of the month
    :param weekdays: days of the week; 0 is Sunday
    :param either_day: whether a day has to be in only one of `days` and `weekdays`. That is so if neither is a star
    :param zone: the time zone; None for the zone of the time that is passed to :meth:`next`
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    zone: tzinfo | None = None

    def next(self, after: datetime) -> datetime | None:
        """See :meth:`Schedule.next`."""
        zone = self.zone or after.tzinfo or local_zone()
        at = later(after.astimezone(zone).replace(microsecond=0), _SECOND)
        last_year = at.year + _YEARS
        # Whether a part was advanced. Then all smaller parts have been set to their lowest values.
        moved = False
        while at.year <= last_year:
            at, settled = self._step(at, moved, zone)
            if settled:
                return at.astimezone(after.tzinfo)
            moved = True
        return _NEVER

    def _step(self, at: datetime, moved: bool, zone: tzinfo) -> tuple[datetime, bool]:
        """
        Advance each part to a value of the schedule, the largest part first.

        :return: the time, and False if a part passed its highest value, so that all parts must be checked again
        """
        while at.month not in self.months:
            if not moved:
                at, moved = moment(at.replace(day=1, hour=0, minute=0, second=0), zone), True
            at = _next_month(at, zone)
            if at.month == 1:
                return at, False
        while not self._is_day(at):
            if not moved:
                at, moved = moment(at.replace(hour=0, minute=0, second=0), zone), True
            at = _next_day(at, zone)
            if at.day == 1:
                return at, False
        while at.hour not in self.hours:
            if not moved:
                at, moved = moment(at.replace(minute=0, second=0), zone), True
            at = later(at, _HOUR)
            if at.hour == 0:
                return at, False
        while at.minute not in self.minutes:
            if not moved:
                at, moved = at.replace(second=0), True
            at = later(at, _MINUTE)
            if at.minute == 0:
                return at, False
        if at.second:
            return later(at, timedelta(seconds=60 - at.second)), False
        return at, True

    def _is_day(self, at: datetime) -> bool:
        day, weekday = at.day in self.days, at.isoweekday() % 7 in self.weekdays
        return (day or weekday) if self.either_day else (day and weekday)


def _next_month(at: datetime, zone: tzinfo) -> datetime:
    year, month = divmod(at.year * 12 + at.month, 12)
    # A day that the month does not have is counted on into the month after it, as in Go.
    return moment(at.replace(year=year, month=month + 1, day=1) + timedelta(days=at.day - 1), zone)


def _next_day(at: datetime, zone: tzinfo) -> datetime:
    at = moment(at.replace(tzinfo=None) + timedelta(days=1), zone)
    # If the clocks change at midnight, the day begins at 1:00, or the hour of 23:00 comes twice.
    return later(at, timedelta(hours=24 - at.hour if at.hour > 12 else -at.hour))


class _Bounds(NamedTuple):
    least: int
    most: int
    names: dict[str, int]


_BOUNDS: Final = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_WEEKDAYS)}),
)


@lru_cache(maxsize=4096)
def parse_schedule(text: str) -> Schedule:
    """
    Parse a schedule.

    :raises ScheduleError: if it is not valid; the error has Kubernetes' text
    """
    if not text:
        raise ScheduleError("empty spec string")
    zone = None
    if text.startswith(("TZ=", "CRON_TZ=")):
        name, space, rest = text.partition("=")[2].partition(" ")
        if not space:
            raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        try:
            zone = load_zone(name)
        except ZoneError as error:
            raise ScheduleError(f"provided bad location {name}: {error}") from None
        text = rest.strip()
    if text.startswith(_EVERY):
        return _every(text)
    if text.startswith("@"):
        if text not in _DESCRIPTORS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        text = _DESCRIPTORS[text]
    parts = text.split()
    if len(parts) != len(_BOUNDS):
        raise ScheduleError(f"expected exactly {len(_BOUNDS)} fields, found {len(parts)}: [{' '.join(parts)}]")
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = (
        _field(part, bounds) for part, bounds in zip(parts, _BOUNDS, strict=True)
    )
    return _Fields(minutes, hours, days, months, weekdays, not (any_day or any_weekday), zone)


def _every(text: str) -> Every:
    try:
        delay = parse_duration(text[len(_EVERY) :])
    except DurationError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None
    return Every(max(delay - timedelta(microseconds=delay.microseconds), _SECOND))


def _field(text: str, bounds: _Bounds) -> tuple[frozenset[int], bool]:
    """Return the numbers in a list of ranges, and whether one of the ranges is a star."""
    numbers: set[int] = set()
    star = False
    for expression in filter(None, text.split(",")):
        range_, is_star = _range(expression, bounds)
        numbers.update(range_)
        star = star or is_star
    return frozenset(numbers), star


def _range(expression: str, bounds: _Bounds) -> tuple[range, bool]:
    ends, *steps = expression.split("/")
    low, *high = ends.split("-")
    star = low in ("*", "?")
    if star:
        first, last = bounds.least, bounds.most
    else:
        first = last = _number(low, bounds)
        if len(high) > 1:
            raise ScheduleError(f"too many hyphens: {expression}")
        if high:
            last = _number(high[0], bounds)
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {expression}")
    step = _number(steps[0]) if steps else 1
    if steps and not high:
        last = bounds.most
    if first < bounds.least:
        raise ScheduleError(f"beginning of range ({first}) below minimum ({bounds.least}): {expression}")
    if last > bounds.most:
        raise ScheduleError(f"end of range ({last}) above maximum ({bounds.most}): {expression}")
    if first > last:
        raise ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")
    return range(first, last + 1, step), star and step == 1


def _number(text: str, bounds: _Bounds | None = None) -> int:
    if bounds is not None and text.lower() in bounds.names:
        return bounds.names[text.lower()]
    if _NUMBER.fullmatch(text) is None:
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = read_integer(text)
    if number is None:
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
