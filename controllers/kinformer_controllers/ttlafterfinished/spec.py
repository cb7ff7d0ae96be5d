"""The ttl-after-finished controller, as kube-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("TtlAfterFinishedOptions", "SPEC")


@dataclass(frozen=True)
class TtlAfterFinishedOptions:
    concurrent_ttl_after_finished_syncs: int = workers(5, "finished Jobs")


SPEC: Final = ControllerSpec(
    name="ttl-after-finished-controller",
    aliases=("ttl-after-finished",),
    summary="deletes Jobs that have ended, after `ttlSecondsAfterFinished`",
    factory="kinformer_controllers.ttlafterfinished.controller:TtlAfterFinishedController",
    options=TtlAfterFinishedOptions,
    permissions=(allow("get list watch delete", "jobs.batch"),),
    metrics=("ttl_after_finished_controller_job_deletion_duration_seconds",),
    sharded_by="owner",
    page="job.md#finished-jobs",
)
