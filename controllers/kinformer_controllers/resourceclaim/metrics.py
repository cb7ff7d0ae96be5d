"""The metrics of the ResourceClaim controller, under Kubernetes' names."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import REGISTRY, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kinformer.cache import Indexer
from kinformer.models import ResourceV1ResourceClaim
from kinformer_controllers.resourceclaim.decision import EXTENDED_CLAIM, POD_CLAIM, asks_for_admin_access
from kinformer_controllers.shared.devices import allocation_of

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


class _Claims(Collector):
    """Counts the claims in a cache."""

    def __init__(self) -> None:
        self.cache: Indexer[ResourceV1ResourceClaim] | None = None

    def describe(self) -> list[Metric]:
        return [_family()]

    def collect(self) -> Iterator[Metric]:
        if self.cache is None:
            return
        family = _family()
        for labels, count in Tally(map(_labels, self.cache.list())).items():
            family.add_metric(labels, count)
        yield family


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "resourceclaim_controller_resource_claims",
        "Number of ResourceClaims, categorized by allocation status, admin access, and source. Source can be "
        "'resource_claim_template' (created from a template), 'extended_resource' (extended resources), or empty "
        "(manually created by a user).",
        labels=("allocated", "admin_access", "source"),
    )


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


_CLAIMS: Final = _Claims()
REGISTRY.register(_CLAIMS)


@contextmanager
def counted_claims(cache: Indexer[ResourceV1ResourceClaim]) -> Iterator[None]:
    """Show the numbers of claims in this cache."""
    _CLAIMS.cache = cache
    try:
        yield
    finally:
        _CLAIMS.cache = None
