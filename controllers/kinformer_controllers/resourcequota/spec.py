"""The ResourceQuota controller, as kube-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, workers
from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("ResourceQuotaOptions", "SPEC")


@dataclass(frozen=True)
class ResourceQuotaOptions:
    concurrent_resource_quota_syncs: int = workers(5, "ResourceQuotas")
    resource_quota_sync_period: float = duration(300.0, "How often every quota is recounted; 0 for never.")


SPEC: Final = ControllerSpec(
    name="resourcequota-controller",
    aliases=("resourcequota",),
    summary="counts what namespaces use; admission is done by the webhook",
    factory="kinformer_controllers.resourcequota.controller:ResourceQuotaController",
    options=ResourceQuotaOptions,
    permissions=(
        # A quota may count objects of any kind.
        allow("list watch", "*.*"),
        allow("update", "resourcequotas/status"),
    ),
    on_leader=(
        "follows every kind that discovery finds; one that cannot be listed would keep the ranges of "
        "all controllers closed"
    ),
    page="resourcequota.md",
    differs="admission is done by the embedded server, or by a webhook that any cluster can use",
)
