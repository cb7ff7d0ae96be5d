"""The options of the CronJob controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers

__all__ = ("CronJobOptions",)


@dataclass(frozen=True)
class CronJobOptions:
    concurrent_cron_job_syncs: int = workers(5, "CronJobs")
