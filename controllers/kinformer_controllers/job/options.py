"""The options of the Job controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers

__all__ = ("JobOptions",)


@dataclass(frozen=True)
class JobOptions:
    concurrent_job_syncs: int = workers(5, "Jobs")
