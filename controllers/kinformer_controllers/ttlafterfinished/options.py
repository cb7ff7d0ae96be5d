"""The options of the ttl-after-finished controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers

__all__ = ("TtlAfterFinishedOptions",)


@dataclass(frozen=True)
class TtlAfterFinishedOptions:
    concurrent_ttl_after_finished_syncs: int = workers(5, "finished Jobs")
