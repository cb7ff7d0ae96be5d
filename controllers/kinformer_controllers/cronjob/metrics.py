"""The CronJob controller's metrics, under kube-controller-manager's names."""

from __future__ import annotations

from typing import Final

from prometheus_client import Histogram

__all__ = ("CREATION_SKEW",)

CREATION_SKEW: Final = Histogram(
    "cronjob_controller_job_creation_skew_duration_seconds",
    "Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
    buckets=[2.0**power for power in range(10)],
)
