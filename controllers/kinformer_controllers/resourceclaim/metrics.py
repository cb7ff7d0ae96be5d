"""The metrics of the ResourceClaim controller, under Kubernetes' names."""

from __future__ import annotations

from collections import Counter as Tally
from contextlib import AbstractContextManager
from typing import Final

from prometheus_client import Counter

from kinformer.cache import Indexer
from kinformer.models import ResourceV1ResourceClaim
from kinformer_controllers.resourceclaim.decision import EXTENDED_CLAIM, POD_CLAIM, asks_for_admin_access
from kinformer_controllers.shared.devices import allocation_of
from kinformer_controllers.shared.gauges import LiveGauge

__all__ = ("CREATES", "counted_claims", "count_create")

CREATES = Counter(
    "resourceclaim_controller_creates_total",
    "Number of ResourceClaims creation requests, categorized by creation status and admin access",
    ("status", "admin_access"),
)


def count_create(claim: ResourceV1ResourceClaim, status: str) -> None:
    """
    Count a request that creates a claim.

    :param status: ``success`` or ``failure``
    """
    CREATES.labels(status, _text(asks_for_admin_access(claim))).inc()


def _labels(claim: ResourceV1ResourceClaim) -> tuple[str, str, str]:
    annotations = claim.metadata.annotations or {}
    source = ""
    if annotations.get(EXTENDED_CLAIM) == "true":
        source = "extended_resource"
    elif annotations.get(POD_CLAIM):
        source = "resource_claim_template"
    return _text(allocation_of(claim) is not None), _text(asks_for_admin_access(claim)), source


def _text(value: bool) -> str:
    return "true" if value else "false"


_CLAIMS: Final = LiveGauge(
    "resourceclaim_controller_resource_claims",
    "Number of ResourceClaims, categorized by allocation status, admin access, and source. Source can be "
    "'resource_claim_template' (created from a template), 'extended_resource' (extended resources), or empty "
    "(manually created by a user).",
    ("allocated", "admin_access", "source"),
)


def counted_claims(cache: Indexer[ResourceV1ResourceClaim]) -> AbstractContextManager[None]:
    """Show the numbers of claims in this cache."""
    return _CLAIMS.shown(lambda: Tally(map(_labels, cache.list())))
