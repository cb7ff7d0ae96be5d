"""Schedules: what a text means, and what follows from zones. Runs that are due or missed are golden cases, too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import TZPATH

import pytest

from kinformer.models import V1CronJob, from_dict
from kinformer.schedules import zones
from kinformer.schedules.schedule import DurationError, Every, ScheduleError, parse_duration, parse_schedule
from kinformer.schedules.zones import ZoneError, load_zone, local_zone
from kinformer_controllers.cronjob.jobs import job_for_run, schedule_text
from kinformer_controllers.cronjob.missed import most_recent_run, seconds_to_next_run

#: A Thursday.
TOP = datetime(2016, 5, 19, 10, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def after(**distance: float) -> datetime:
    return TOP + timedelta(**distance)


def cron_job(schedule: str, *, created: datetime = TOP, last: datetime | None = None, **spec: Any) -> V1CronJob:
    return from_dict(
        V1CronJob,
        {
            "metadata": {"name": "c", "namespace": "ns", "uid": "u", "creationTimestamp": created.isoformat()},
            "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": {}}}, **spec},
            "status": {"lastScheduleTime": last.isoformat()} if last is not None else {},
        },
    )


@pytest.mark.parametrize(
    ("text", "start", "runs"),
    [
        ("20-35/15 * * * *", "2012-07-09T23:46:00Z", ["2012-07-10T00:20:00Z", "2012-07-10T00:35:00Z"]),
        ("0 0 */10 * Sun", "2012-07-09T00:00:00Z", ["2012-07-11T00:00:00Z", "2012-07-15T00:00:00Z"]),
        ("@annually", "2012-07-09T00:00:00Z", ["2013-01-01T00:00:00Z", "2014-01-01T00:00:00Z"]),
        ("@every 1h30m", "2012-07-09T00:00:10Z", ["2012-07-09T01:30:10Z", "2012-07-09T03:00:10Z"]),
        # The hour from 2 to 3 is missing: the run of 2:30 is left out that day.
        (
            "TZ=America/New_York 30 2 11 Mar ?",
            "2012-03-11T00:00:00-05:00",
            ["2013-03-11T02:30:00-04:00", "2014-03-11T02:30:00-04:00"],
        ),
        (
            "TZ=America/New_York 0 * * * ?",
            "2012-03-11T00:00:00-05:00",
            ["2012-03-11T01:00:00-05:00", "2012-03-11T03:00:00-04:00"],
        ),
        # The hour from 1 to 2 comes twice: so do its runs.
        (
            "TZ=America/New_York 0 1 04 Nov ?",
            "2012-11-04T00:00:00-04:00",
            ["2012-11-04T01:00:00-04:00", "2012-11-04T01:00:00-05:00"],
        ),
        (
            "CRON_TZ=America/New_York 0 0 4 Nov ?",
            "2012-11-03T00:00:00-04:00",
            ["2012-11-04T00:00:00-04:00", "2013-11-04T00:00:00-05:00"],
        ),
        # No midnight: clocks went from 0 to 1 o'clock.
        (
            "TZ=America/Sao_Paulo 0 9 10 * ?",
            "2018-10-10T09:00:00-03:00",
            ["2018-11-10T09:00:00-02:00", "2018-12-10T09:00:00-02:00"],
        ),
        ("TZ=Asia/Kolkata 0 9 * * *", "2026-01-01T00:00:00Z", ["2026-01-01T03:30:00Z", "2026-01-02T03:30:00Z"]),
    ],
)
def test_runs_are_due_when_kubernetes_has_them_due(text: str, start: str, runs: list[str]) -> None:
    schedule, moment = parse_schedule(text), at(start)

    for expected in runs:
        found = schedule.next(moment)
        assert found is not None
        assert found == at(expected)
        moment = found


@pytest.mark.parametrize("text", ["0 0 30 Feb ?", ", * * * *"])
def test_a_schedule_that_never_comes_true_has_no_next_run(text: str) -> None:
    assert parse_schedule(text).next(TOP) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty spec string"),
        ("xyz", "expected exactly 5 fields, found 1: [xyz]"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 0 * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("99999999999999999999 * * * *", "value out of range"),
        ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
        ("@unrecognized", "unrecognized descriptor: @unrecognized"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("TZ=No/Zone * * * * *", "provided bad location No/Zone: unknown time zone No/Zone"),
        ("TZ=../etc * * * * *", "provided bad location ../etc: time: invalid location name"),
        ("TZ=0", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
        ("TZ=", "invalid schedule format"),
        ("CRON_TZ=UTC", "invalid schedule format"),
        ("TZ=Invalid/Timezone", "invalid schedule format"),
    ],
)
def test_what_is_no_schedule_is_refused_in_kubernetes_words(text: str, why: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        parse_schedule(text)

    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90m", 5400),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("-1m", -60),
        ("0", 0),
        ("100ms", 0.1),
        ("1µs", 1e-6),
        (".5s", 0.5),
    ],
)
def test_durations_are_read_as_go_reads_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "-", "1", "h", "1x", "1h2", ".", "9999999999h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(DurationError, match="time: "):
        parse_duration(text)


@pytest.mark.parametrize(("text", "delay"), [("1ms", 1), ("1500ms", 1), ("2s", 2), ("-5m", 1)])
def test_a_distance_is_of_whole_seconds_and_one_at_least(text: str, delay: int) -> None:
    assert parse_schedule(f"@every {text}") == Every(timedelta(seconds=delay))


def test_a_machine_has_a_zone_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    assert local_zone() == load_zone("Asia/Kolkata")
    monkeypatch.setenv("TZ", "No/Zone")
    assert local_zone() == UTC
    monkeypatch.delenv("TZ")
    monkeypatch.setattr(zones, "_LOCALTIME", zones.Path("/nowhere"))
    zones._zone_of_variable.cache_clear()
    assert local_zone() == UTC
    zones._zone_of_variable.cache_clear()
    with pytest.raises(ZoneError):
        load_zone("/etc/passwd")


def test_a_schedule_without_a_zone_follows_the_machines_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, nine = cron_job("0 9 * * *"), parse_schedule("0 9 * * *")
    monkeypatch.setenv("TZ", ":Asia/Kolkata")

    # 9:00 in India is 3:30 in UTC.
    assert most_recent_run(owner, after(hours=18), nine, heed_deadline=False).most_recent == after(hours=17.5)
    assert seconds_to_next_run(owner, after(hours=18), nine) == pytest.approx(23.5 * 3600 + 0.1)
    assert most_recent_run(owner, after(days=9), nine, heed_deadline=True).most_recent == after(days=8, hours=17.5)
    in_utc = parse_schedule("TZ=UTC 0 9 * * *")
    assert most_recent_run(owner, after(hours=23), in_utc, heed_deadline=False).most_recent == after(hours=23)


def test_the_machines_zone_may_be_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = next(path for each in TZPATH if (path := Path(each) / "Asia/Kolkata").exists())
    file = tmp_path / "zone"
    file.write_bytes(found.read_bytes())
    monkeypatch.setenv("TZ", str(file))

    assert TOP.astimezone(local_zone()).utcoffset() == timedelta(hours=5.5)


def test_runs_past_their_deadline_are_not_looked_at() -> None:
    hourly = cron_job("0 * * * ?", last=after(minutes=30), startingDeadlineSeconds=7200)

    runs = most_recent_run(hourly, after(days=10, hours=1), parse_schedule("0 * * * ?"), heed_deadline=True)

    assert (runs.earliest, runs.most_recent) == (after(days=9, hours=23), after(days=10, hours=1))


def test_a_schedule_without_runs_is_a_problem() -> None:
    owner = cron_job("59 23 31 2 *", created=after(seconds=10))

    runs = most_recent_run(owner, after(hours=1), parse_schedule("59 23 31 2 *"), heed_deadline=True)

    assert runs.most_recent is None
    assert runs.problem is not None
    assert seconds_to_next_run(owner, after(hours=1), parse_schedule("59 23 31 2 *")) < 0


@pytest.mark.parametrize(
    ("zone", "annotations", "stamp"),
    [
        pytest.param("UTC", {"x": "y"}, "2016-05-19T10:00:00Z", id="UTC timezone and one annotation"),
        pytest.param(None, {"x": "y"}, "2016-05-19T10:00:00Z", id="nil timezone and one annotation"),
        pytest.param(
            "America/New_York",
            {"x": "y", "z": "w"},
            "2016-05-19T06:00:00-04:00",
            id="correct timezone, more annotations",
        ),
    ],
)
def test_a_runs_job_has_the_templates_labels_and_names_its_run(
    zone: str | None, annotations: dict[str, str], stamp: str
) -> None:
    owner = cron_job("0 * * * *", timeZone=zone)
    owner.spec.job_template.metadata = from_dict(V1CronJob, {"metadata": {"annotations": annotations}}).metadata
    owner.spec.job_template.metadata.labels = {"a": "b"}

    job = job_for_run(owner, TOP)

    assert job.metadata.name == f"c-{int(TOP.timestamp()) // 60}"
    assert job.metadata.labels == {"a": "b"}
    assert job.metadata.annotations == {**annotations, "batch.kubernetes.io/cronjob-scheduled-timestamp": stamp}
    assert job.spec is not owner.spec.job_template.spec


def test_the_specs_zone_applies_unless_the_schedule_names_one() -> None:
    assert schedule_text(cron_job("0 * * * *", timeZone="Asia/Kolkata")) == "TZ=Asia/Kolkata 0 * * * *"
    assert schedule_text(cron_job("TZ=UTC 0 * * * *", timeZone="Asia/Kolkata")) == "TZ=UTC 0 * * * *"
    assert schedule_text(cron_job("0 * * * *", timeZone="No/Zone")) == "0 * * * *"
    assert schedule_text(cron_job("0 * * * *")) == "0 * * * *"


@pytest.mark.parametrize(
    "zone", ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "UTC"]
)
def test_runs_follow_each_other_through_a_whole_year_of_any_zone(zone: str) -> None:
    schedule = parse_schedule(f"TZ={zone} 30 */3 * * *")
    runs = [at("2026-01-01T00:00:00Z")]
    while runs[-1] < at("2027-01-01T00:00:00Z"):
        run = schedule.next(runs[-1])
        assert run is not None
        runs.append(run)

    distances = {later - earlier for earlier, later in pairwise(runs)}
    assert min(distances) >= timedelta(minutes=30)
    assert max(distances) <= timedelta(hours=6)
    assert len(runs) > 2900
