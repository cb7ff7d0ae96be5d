"""Computing the runs of a CronJob: the last run that is due, how many runs were missed, and the time to the next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final, NamedTuple

from kinformer.models import V1CronJob
from kinformer.schedules.schedule import Schedule
from kinformer.schedules.zones import later, local_zone

__all__ = ("Missed", "NoDistanceError", "Runs", "minutes_of", "most_recent_run", "seconds_to_next_run")

_SECOND: Final = timedelta(seconds=1)
#: If more runs than this were missed, an Event tells the user.
_MANY: Final = 100
#: A CronJob is synced this much later than its run, because clocks differ.
_LATER: Final = timedelta(milliseconds=100)
#: Takes the place of a missing time. It is the earliest time that every time zone can show.
_LONG_AGO: Final = datetime(1, 1, 2, tzinfo=UTC)
#: The time to the next run if there is none: Go's smallest duration.
_LEAST_SECONDS: Final = -(2.0**63) / 1e9


class Missed(IntEnum):
    """How many runs were missed, roughly."""

    NONE = 0
    FEW = 1
    MANY = 2


class NoDistanceError(ValueError):
    """A schedule is valid but never has a run: 31 February, for example."""


class Runs(NamedTuple):
    """
    The result of :func:`most_recent_run`.

    :param earliest: the time after which runs count
    :param most_recent: the last run that is due; None if none is
    :param missed: how many runs were missed
    :param problem: why the schedule has no runs; None if it has runs
    """

    earliest: datetime
    most_recent: datetime | None
    missed: Missed
    problem: NoDistanceError | None = None


def most_recent_run(cron_job: V1CronJob, now: datetime, schedule: Schedule, *, heed_deadline: bool) -> Runs:
    """
    Return the last run that is due.

    :param heed_deadline: whether runs before the starting deadline are ignored
    """
    earliest = _earliest(cron_job, now, heed_deadline)
    first = _next(schedule, earliest)
    second = _next(schedule, first) if first is not None else None
    if first is not None and now < first:
        return Runs(earliest, None, Missed.NONE)
    if first is not None and second is not None and now < second:
        return Runs(earliest, first, Missed.NONE)
    distance = _whole_seconds((second or _LONG_AGO) - (first or _LONG_AGO))
    if first is None or distance < 1:
        problem = NoDistanceError("time difference between two schedules is less than 1 second")
        return Runs(earliest, None, Missed.NONE, problem)
    count = (now - first) // _SECOND // distance + 1
    # The count is an estimate, because a schedule may leave out nights or weekends. So start two runs earlier.
    most_recent = None
    run = _next(schedule, later(first, timedelta(seconds=(count - 2) * distance)))
    while run is not None and run <= now:
        most_recent, run = run, _next(schedule, run)
    return Runs(earliest, most_recent, Missed.MANY if count > _MANY else Missed.FEW)


def seconds_to_next_run(cron_job: V1CronJob, now: datetime, schedule: Schedule) -> float:
    """Return the seconds until the next run, and a little more; a negative number if there is none."""
    runs = most_recent_run(cron_job, now, schedule, heed_deadline=False)
    base = runs.most_recent
    if runs.problem is not None:
        base = now
    elif base is None:
        base = runs.earliest if runs.missed is Missed.NONE else now
    run = _next(schedule, base)
    return (run + _LATER - now).total_seconds() if run is not None else _LEAST_SECONDS


def minutes_of(run: datetime) -> int:
    """Return the number in the name of a run's job: the minutes since 1970."""
    return int(run.timestamp()) // 60


def _next(schedule: Schedule, after: datetime) -> datetime | None:
    """Return the next run, in UTC. A schedule without a time zone follows this machine's, as in Kubernetes."""
    run = schedule.next(after.astimezone(local_zone()))
    return run.astimezone(UTC) if run is not None else None


def _earliest(cron_job: V1CronJob, now: datetime, heed_deadline: bool) -> datetime:
    status, deadline = cron_job.status, cron_job.spec.starting_deadline_seconds
    earliest = status.last_schedule_time if status is not None else None
    if earliest is None:
        earliest = cron_job.metadata.creation_timestamp or _LONG_AGO
    if heed_deadline and deadline is not None:
        earliest = max(earliest, now - timedelta(seconds=min(deadline, _MOST_SECONDS)))
    return earliest


#: Go counts a duration in nanoseconds, in 63 bits.
_MOST_SECONDS: Final = 2**63 // 10**9


def _whole_seconds(distance: timedelta) -> int:
    """Round to whole seconds, halves away from zero."""
    half = timedelta(milliseconds=500)
    return (distance + half) // _SECOND if distance >= timedelta() else -((half - distance) // _SECOND)
