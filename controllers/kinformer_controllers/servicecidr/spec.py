"""The controller of ServiceCIDRs, as in kube-controller-manager: it keeps a range until no Service address needs it."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="service-cidr-controller",
    summary="marks ranges of Service addresses as ready, and keeps them while addresses need them",
    factory="kinformer_controllers.servicecidr.controller:ServiceCIDRController",
    permissions=(
        allow("list watch patch", "servicecidrs.networking.k8s.io"),
        allow("patch", "servicecidrs.networking.k8s.io/status"),
        allow("list watch", "ipaddresses.networking.k8s.io"),
        RECORD_EVENTS,
    ),
    on_leader="two ServiceCIDRs that contain the same address must not go at once",
    page="endpoints.md#ranges-of-service-addresses",
    differs="before a range may go, the server is asked for the addresses and ranges that there are",
)
