"""A webhook for quotas over many namespaces: GroupQuotas. A request is charged when it is admitted.

The webhook admits a request before its object is stored. A recount between these two moments would not find the object,
would subtract its charge, and the amount could be used twice. So each charge is also *reserved* until an informer has
seen the object, or until a time limit that no API server exceeds. A recount adds the reservations to the stored
objects.

A reservation is written together with its charge into the GroupQuota's status, and only onto the version from which the
charge was computed. So any number of replicas can answer requests: each knows the charges of all, and no charge is
lost. One replica is elected to recount.
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

#: These modules are imported on first use: ``kinformer --help`` imports this package and needs none of them.
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
