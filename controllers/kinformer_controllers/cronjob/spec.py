"""The CronJob controller, as kube-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("CronJobOptions", "SPEC")


@dataclass(frozen=True)
class CronJobOptions:
    concurrent_cron_job_syncs: int = workers(5, "CronJobs")


SPEC: Final = ControllerSpec(
    name="cronjob-controller",
    aliases=("cronjob",),
    summary="makes Jobs by a schedule",
    factory="kinformer_controllers.cronjob.controller:CronJobController",
    options=CronJobOptions,
    permissions=(
        allow("get list watch", "cronjobs.batch"),
        allow("update", "cronjobs.batch/status"),
        allow("get list watch create delete", "jobs.batch"),
        # Its Jobs have owner references with blockOwnerDeletion. Some servers require this permission for them.
        allow("update", "cronjobs.batch/finalizers"),
        RECORD_EVENTS,
    ),
    metrics=("cronjob_controller_job_creation_skew_duration_seconds",),
    sharded_by="namespace",
    page="job.md#schedules",
    differs="a run is skipped if somebody else's Job has its name",
)
