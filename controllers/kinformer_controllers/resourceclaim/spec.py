"""The ResourceClaim controller: makes the claims of pods from templates, reserves them, and releases them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import feature_gates

__all__ = ("SPEC", "ResourceClaimOptions")


@dataclass(frozen=True)
class ResourceClaimOptions:
    concurrent_resourceclaim_syncs: int = workers(50, "pods and ResourceClaims")
    feature_gates: str = feature_gates()


_GROUP: Final = "resource.k8s.io"

SPEC: Final = ControllerSpec(
    name="resourceclaim-controller",
    aliases=("resource-claim-controller",),
    summary="makes the ResourceClaims of pods from templates, and releases those that pods no longer use",
    factory="kinformer_controllers.resourceclaim.controller:ResourceClaimController",
    options=ResourceClaimOptions,
    permissions=(
        allow("get list watch", "pods"),
        allow("patch", "pods/status"),
        allow("list watch create update delete", f"resourceclaims.{_GROUP}"),
        allow("update", f"resourceclaims.{_GROUP}/status"),
        # Kubernetes 1.36 asks for it as well when reservations and allocations change.
        allow("update", f"resourceclaims.{_GROUP}/binding"),
        allow("list watch", f"resourceclaimtemplates.{_GROUP}"),
        # Only with the feature gate DRAWorkloadResourceClaims.
        allow("get list watch", "podgroups.scheduling.k8s.io"),
        allow("patch", "podgroups.scheduling.k8s.io/status"),
        RECORD_EVENTS,
    ),
    metrics=(
        "resourceclaim_controller_creates_total",
        "resourceclaim_controller_resource_claims",
    ),
    sharded_by="namespace",
    page="devices.md#claims",
    differs=(
        "nothing is made or reserved for a pod that has ended; a claim that was deleted is made again; the server is "
        "asked before a claim is taken from a pod that the cache shows with another uid"
    ),
)
