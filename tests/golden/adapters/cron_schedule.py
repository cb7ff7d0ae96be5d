"""cron_schedule: a CronJob at some moment: which run was due, how many were missed, and when the next is."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.models import V1CronJob, from_dict
from kinformer.schedules.schedule import ScheduleError, parse_schedule
from kinformer.schedules.zones import ZoneError, load_zone
from kinformer_controllers.cronjob.jobs import schedule_text
from kinformer_controllers.cronjob.missed import minutes_of, most_recent_run, seconds_to_next_run

__all__ = ("answer",)


def answer(case: Any) -> Any:
    cron_job = from_dict(V1CronJob, case["cronJob"])
    now = datetime.fromisoformat(case["now"])
    try:
        load_zone(cron_job.spec.time_zone or "")
        schedule = parse_schedule(schedule_text(cron_job))
    except (ScheduleError, ZoneError):
        return {"ok": False}
    runs = most_recent_run(cron_job, now, schedule, heed_deadline=True)
    answer: dict[str, Any] = {
        "ok": True,
        "earliest": _text(runs.earliest),
        "mostRecent": _text(runs.most_recent) if runs.most_recent is not None else None,
        "missed": int(runs.missed),
        "error": runs.problem is not None,
    }
    if runs.problem is None:
        answer["nextSeconds"] = round(seconds_to_next_run(cron_job, now, schedule), 6)
    if runs.most_recent is not None:
        answer["nameHash"] = minutes_of(runs.most_recent)
    return answer


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
