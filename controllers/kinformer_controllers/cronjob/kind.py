"""The group, version and kind of a CronJob, as in owner references."""

from __future__ import annotations

from typing import Final

from kinformer.meta import GroupVersionKind

__all__ = ("KIND",)

KIND: Final = GroupVersionKind("batch", "v1", "CronJob")
