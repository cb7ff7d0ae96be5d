"""The options of the ResourceQuota controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, workers

__all__ = ("ResourceQuotaOptions",)


@dataclass(frozen=True)
class ResourceQuotaOptions:
    concurrent_resource_quota_syncs: int = workers(5, "ResourceQuotas")
    resource_quota_sync_period: float = duration(300.0, "How often every quota is recounted; 0 for never.")
