"""What Kubernetes' controller makes of a CronJob: one row for each branch, times on 19 and 26 May 2016."""

from __future__ import annotations

from typing import Any

__all__ = ("CASES",)

# fmt: off
#: See :class:`tests.controllers.cronjob.test_sync.Case` for the fields. The policy is "Allow" where none is named.
CASES: dict[str, dict[str, Any]] = {
    "never ran, not valid schedule": {"schedule": "obvious error schedule", "warnings": 1},
    "never ran, not valid time zone": {"zone": "bad timezone", "warnings": 1},
    "never ran, not time": {"after": 60.1},
    "never ran, not time in zone": {"zone": "America/New_York", "after": 60.1},
    "never ran, is time": {"now": "19T10:01:00", "creates": True, "active": 1, "after": 3540.1, "writes": True},
    "never ran, is time in zone": {
        "zone": "America/New_York", "now": "19T10:01:00", "creates": True, "active": 1, "after": 3540.1, "writes": True,
    },
    "never ran, is time in zone, but TZ is also set in schedule": {
        "schedule": "TZ=UTC 0 * * * ?", "zone": "America/New_York", "now": "19T10:01:00", "creates": True,
        "warnings": 1, "after": 3540.1, "writes": True,
    },
    "never ran, is time, suspended": {"suspend": True, "now": "19T10:01:00"},
    "never ran, is time, past deadline": {"deadline": 10, "now": "19T10:12:00", "after": 2880.1},
    "never ran, is time, not past deadline": {
        "deadline": 1000000, "now": "19T10:01:00", "creates": True, "active": 1, "after": 3540.1, "writes": True,
    },
    "prev ran but done, not time": {"ran": True, "after": 60.1, "writes": True, "listed": True, "completed": True},
    "prev ran but done, is time": {
        "ran": True, "now": "19T10:01:00", "creates": True, "active": 1, "after": 3540.1, "writes": True,
        "listed": True, "completed": True,
    },
    "prev ran but done, is time, create job failed": {
        "ran": True, "now": "19T10:01:00", "create_error": "exists", "writes": True, "listed": True, "completed": True,
    },
    "prev ran but done, is time, job not present in CJ active status, create job failed": {
        "ran": True, "now": "19T10:01:00", "create_error": "exists", "writes": True,
    },
    "prev ran but done, is time, F": {
        "policy": "Forbid", "ran": True, "now": "19T10:01:00", "creates": True, "active": 1, "after": 3540.1,
        "writes": True, "listed": True, "completed": True,
    },
    "prev ran but done, is time, R": {
        "policy": "Replace", "ran": True, "now": "19T10:01:00", "creates": True, "active": 1, "after": 3540.1,
        "writes": True, "listed": True, "completed": True,
    },
    "prev ran but done, is time, suspended": {
        "suspend": True, "ran": True, "now": "19T10:01:00", "writes": True, "listed": True, "completed": True,
    },
    "prev ran but done, is time, past deadline": {
        "deadline": 10, "ran": True, "now": "19T10:01:00", "after": 3540.1, "writes": True, "listed": True,
        "completed": True,
    },
    "prev ran but done, is time, not past deadline": {
        "deadline": 1000000, "ran": True, "now": "19T10:01:00", "creates": True, "active": 1, "after": 3540.1,
        "writes": True, "listed": True, "completed": True,
    },
    "still active, not time": {"ran": True, "active_still": True, "active": 1, "after": 60.1, "listed": True},
    "still active, is time": {
        "ran": True, "active_still": True, "now": "19T10:01:00", "creates": True, "active": 2, "after": 3540.1,
        "writes": True, "listed": True,
    },
    "still active, is time, F": {
        "policy": "Forbid", "ran": True, "active_still": True, "now": "19T10:01:00", "active": 1, "after": 3540.1,
        "listed": True,
    },
    "still active, is time, R": {
        "policy": "Replace", "ran": True, "active_still": True, "now": "19T10:01:00", "creates": True, "deletes": True,
        "active": 1, "after": 3540.1, "writes": True, "listed": True,
    },
    "still active, is time, get job failed, R": {
        "policy": "Replace", "ran": True, "active_still": True, "now": "19T10:01:00", "get_error": "refused",
        "active": 1, "warnings": 1, "listed": True,
    },
    "still active, is time, suspended": {
        "suspend": True, "ran": True, "active_still": True, "now": "19T10:01:00", "active": 1, "listed": True,
    },
    "still active, is time, past deadline": {
        "deadline": 10, "ran": True, "active_still": True, "now": "19T10:01:00", "active": 1, "after": 3540.1,
        "listed": True,
    },
    "still active, is time, not past deadline": {
        "deadline": 1000000, "ran": True, "active_still": True, "now": "19T10:01:00", "creates": True, "active": 2,
        "after": 3540.1, "writes": True, "listed": True,
    },
    "prev ran but done, long overdue, not past deadline": {
        "deadline": 1000000, "ran": True, "now": "26T10:00:00", "creates": True, "active": 1, "warnings": 1,
        "after": 3600.1, "writes": True, "listed": True, "completed": True,
    },
    "prev ran but done, long overdue, no deadline": {
        "ran": True, "now": "26T10:00:00", "creates": True, "active": 1, "warnings": 1, "after": 3600.1, "writes": True,
        "listed": True, "completed": True,
    },
    "prev ran but done, long overdue, past medium deadline": {
        "deadline": 7200, "ran": True, "now": "26T10:00:00", "creates": True, "active": 1, "after": 3600.1,
        "writes": True, "listed": True, "completed": True,
    },
    "prev ran but done, long overdue, past short deadline": {
        "deadline": 10, "ran": True, "now": "26T10:00:00", "creates": True, "active": 1, "after": 3600.1,
        "writes": True, "listed": True, "completed": True,
    },
    "this ran but done, time drifted back, F": {
        "policy": "Forbid", "ran": True, "job_created_at": "19T10:01:00", "create_error": "exists", "after": 60.1,
        "writes": True,
    },
    "this started but went missing, not past deadline": {
        "deadline": 1000000, "ran": True, "active_still": True, "job_created_at": "19T10:00:00", "now": "19T10:01:00",
        "active": 1, "after": 3540.0, "unseen": True, "listed": True,
    },
    "this started but is not present in cronjob active list, not past deadline": {
        "deadline": 1000000, "ran": True, "active_still": True, "job_created_at": "19T10:00:00", "now": "19T10:01:00",
        "active": 1, "after": 3540.0,
    },
    "with @every schedule, never ran, not time": {
        "schedule": "@every 1h", "created_at": "19T09:59:00", "now": "19T10:00:00", "after": 3540.1,
    },
    "with @every schedule, never ran, is time": {
        "schedule": "@every 1h", "created_at": "19T08:59:00", "after": 3600.1, "creates": True, "active": 1,
        "writes": True,
    },
    "with @every schedule, never ran, is time, past deadline": {
        "schedule": "@every 1h", "deadline": 10, "created_at": "19T08:59:00", "now": "19T09:59:11", "after": 3589.1,
    },
    "with @every schedule, never ran, is time, not past deadline": {
        "schedule": "@every 1h", "deadline": 1000000, "created_at": "19T08:59:00", "now": "19T09:59:09",
        "creates": True, "active": 1, "after": 3591.1, "writes": True,
    },
    "with @every schedule, prev ran but done, not time": {
        "schedule": "@every 1h", "ran": True, "created_at": "19T08:59:00", "job_created_at": "19T08:59:00",
        "last": "19T09:59:00", "now": "19T10:00:00", "after": 3540.1, "writes": True, "listed": True, "completed": True,
    },
    "with @every schedule, prev ran but done, is time": {
        "schedule": "@every 1h", "ran": True, "created_at": "19T08:59:00", "job_created_at": "19T08:59:00",
        "last": "19T09:59:00", "now": "19T11:00:00", "creates": True, "active": 1, "after": 3540.1, "writes": True,
        "listed": True, "completed": True,
    },
    "with @every schedule, prev ran but done, is time, past deadline": {
        "schedule": "@every 1h", "deadline": 10, "ran": True, "created_at": "19T08:59:00",
        "job_created_at": "19T08:59:00", "last": "19T09:59:00", "now": "19T10:59:11", "after": 3589.1, "writes": True,
        "listed": True, "completed": True,
    },
    "with @every schedule, still active, not time": {
        "schedule": "@every 1h", "ran": True, "active_still": True, "created_at": "19T08:59:00",
        "job_created_at": "19T09:59:00", "last": "19T09:59:00", "now": "19T10:00:00", "active": 1, "after": 3540.1,
        "listed": True,
    },
    "with @every schedule, still active, is time": {
        "schedule": "@every 1h", "ran": True, "active_still": True, "created_at": "19T08:59:00",
        "job_created_at": "19T08:59:00", "last": "19T08:59:00", "now": "19T10:01:00", "creates": True, "active": 2,
        "after": 3480.1, "writes": True, "listed": True,
    },
    "with @every schedule, still active, is time, past deadline": {
        "schedule": "@every 1h", "deadline": 10, "ran": True, "active_still": True, "created_at": "19T08:59:00",
        "job_created_at": "19T09:59:00", "last": "19T09:59:00", "now": "19T10:59:11", "active": 1, "after": 3589.1,
        "listed": True,
    },
    "with @every schedule, still active, is time, not past deadline": {
        "schedule": "@every 1h", "deadline": 1000000, "ran": True, "active_still": True, "created_at": "19T08:59:00",
        "job_created_at": "19T09:59:00", "last": "19T09:59:00", "now": "19T10:59:09", "creates": True, "active": 2,
        "after": 3591.1, "writes": True, "listed": True,
    },
    "with @every schedule, prev ran but done, long overdue, no deadline": {
        "schedule": "@every 1h", "ran": True, "created_at": "19T09:01:00", "last": "19T10:01:00", "now": "26T10:00:00",
        "creates": True, "active": 1, "warnings": 1, "after": 60.1, "writes": True, "listed": True, "completed": True,
    },
    "with @every schedule, prev ran but done, long overdue, past deadline": {
        "schedule": "@every 1h", "deadline": 10, "ran": True, "created_at": "19T09:01:00", "last": "19T10:01:00",
        "now": "26T10:01:11", "after": 3589.1, "writes": True, "listed": True, "completed": True,
    },
    "do nothing if the namespace is terminating": {
        "create_error": "terminating", "ran": True, "active_still": True, "now": "19T10:01:00", "fails": True,
    },
    "set lastsuccessfultime if successfulJobHistoryLimit is zero": {
        "keep": 0, "ran": True, "writes": True, "completed": True, "listed": True,
    },
    "set lastsuccessfultime if successfulJobHistoryLimit is ten": {
        "keep": 10, "ran": True, "writes": True, "completed": True, "listed": True,
    },
    "set lastsuccessfultime if successfulJobHistoryLimit is nil": {
        "ran": True, "writes": True, "completed": True, "listed": True,
    },
}
# fmt: on
