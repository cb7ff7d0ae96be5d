"""The answers to ResourcePoolStatusRequests, as in kube-controller-manager: how many devices a driver's pools have."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import GateOptions

__all__ = ("SPEC",)

_GROUP: Final = "resource.k8s.io"
_PREFIX: Final = "resourcepoolstatusrequest_controller"

SPEC: Final = ControllerSpec(
    name="resourcepoolstatusrequest-controller",
    summary="counts the devices of pools for those who ask, and deletes old answers",
    factory="kinformer_controllers.resourcepoolstatusrequest.controller:PoolStatusRequests",
    options=GateOptions,
    permissions=(
        allow("list watch delete", f"resourcepoolstatusrequests.{_GROUP}"),
        allow("update", f"resourcepoolstatusrequests.{_GROUP}/status"),
        allow("list watch", f"resourceslices.{_GROUP}", f"resourceclaims.{_GROUP}"),
    ),
    metrics=(
        f"{_PREFIX}_request_processing_duration_seconds",
        f"{_PREFIX}_request_processing_errors_total",
        f"{_PREFIX}_requests_processed_total",
    ),
    on_leader="an answer counts the claims of all namespaces",
    feature_gate="DRAResourcePoolStatus",
    page="devices.md#questions-about-pools",
    differs="waits for incomplete pools without a limit; an answer is never older than its request",
)
