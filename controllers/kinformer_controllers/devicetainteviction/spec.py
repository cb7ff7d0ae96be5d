"""The device taint eviction controller: deletes pods that do not tolerate the NoExecute taints of their devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import feature_gates

__all__ = ("SPEC", "DeviceTaintEvictionOptions")


@dataclass(frozen=True)
class DeviceTaintEvictionOptions:
    concurrent_device_taint_eviction_syncs: int = workers(8, "pods to evict and DeviceTaintRules")
    feature_gates: str = feature_gates()


_GROUP: Final = "resource.k8s.io"

SPEC: Final = ControllerSpec(
    name="device-taint-eviction-controller",
    summary="deletes pods that do not tolerate a NoExecute taint of their devices",
    factory="kinformer_controllers.devicetainteviction.controller:DeviceTaintEviction",
    options=DeviceTaintEvictionOptions,
    permissions=(
        allow("get list watch delete", "pods"),
        allow("patch", "pods/status"),
        allow("get list watch", f"resourceclaims.{_GROUP}", f"resourceslices.{_GROUP}"),
        # Only with the feature gate DRADeviceTaintRules.
        allow("get list watch", f"devicetaintrules.{_GROUP}"),
        allow("patch", f"devicetaintrules.{_GROUP}/status"),
        RECORD_EVENTS,
    ),
    metrics=(
        "device_taint_eviction_controller_pod_deletion_duration_seconds",
        "device_taint_eviction_controller_pod_deletions_total",
    ),
    on_leader="the status of a rule counts the pods of all namespaces",
    page="devices.md#taints",
    differs="a pod is evicted only if the server still has the claim and the taint",
)
