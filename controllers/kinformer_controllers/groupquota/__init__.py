"""A webhook for quotas over many namespaces: GroupQuotas, charged when a request is admitted and recounted at leisure.

Between the webhook's yes and the moment that the object is stored lies time. A recount in it would not find the object,
give its charge back, and let somebody else have it. So a charge is *reserved* until an informer has seen the object, or
for as long as an API server could possibly take; a recount adds what is reserved to what is stored.

What is reserved is written with the charge, into the GroupQuota itself, and only onto the version that the charge was
reckoned from. So any number of replicas answer, each knows what all have charged, and none forgets it. One of them is
elected to recount.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor
    from kinformer_controllers.groupquota.controller import GroupQuotaController
    from kinformer_controllers.groupquota.group_quota import GROUP_QUOTAS, GroupQuotaError, read_group_quota
    from kinformer_controllers.groupquota.reservations import ReservationLedger
    from kinformer_controllers.groupquota.server import WebhookServer
    from kinformer_controllers.groupquota.webhook import QuotaWebhook

__all__ = (
    "GROUP_QUOTAS",
    "GroupQuotaAccessor",
    "GroupQuotaController",
    "GroupQuotaError",
    "QuotaWebhook",
    "ReservationLedger",
    "WebhookServer",
    "read_group_quota",
)

#: Imported when asked for: ``kinformer --help`` names the webhook's command, and needs nothing of what it runs.
_MODULES = {
    "GROUP_QUOTAS": "group_quota",
    "GroupQuotaAccessor": "accessor",
    "GroupQuotaController": "controller",
    "GroupQuotaError": "group_quota",
    "QuotaWebhook": "webhook",
    "ReservationLedger": "reservations",
    "WebhookServer": "server",
    "read_group_quota": "group_quota",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
