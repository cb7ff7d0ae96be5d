"""The horizontal pod autoscaler: sets the number of pods of a target by the metrics of its pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, option, workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import feature_gates

__all__ = ("HpaOptions", "SPEC")

_PREFIX: Final = "horizontal_pod_autoscaler_controller"


@dataclass(frozen=True)
class HpaOptions:
    """Names and defaults are kube-controller-manager's."""

    concurrent_horizontal_pod_autoscaler_syncs: int = workers(5, "HorizontalPodAutoscalers")
    horizontal_pod_autoscaler_sync_period: float = duration(
        15.0, "How often each HorizontalPodAutoscaler is evaluated.", minimum=0.1
    )
    horizontal_pod_autoscaler_downscale_stabilization: float = duration(
        300.0, "For how long the highest recommendation counts before a target is scaled down."
    )
    horizontal_pod_autoscaler_tolerance: float = option(
        0.1, "A target is left alone if the ratio of usage to target differs from 1 by no more than this.", minimum=0.0
    )
    horizontal_pod_autoscaler_cpu_initialization_period: float = duration(
        300.0, "For how long after its start the CPU samples of a pod may be left out."
    )
    horizontal_pod_autoscaler_initial_readiness_delay: float = duration(
        30.0, "A pod that became unready within this time after its start counts as never having been ready."
    )
    feature_gates: str = feature_gates()


SPEC: Final = ControllerSpec(
    name="horizontal-pod-autoscaler-controller",
    aliases=("horizontalpodautoscaling",),
    summary="sets the number of pods of a target by metrics",
    factory="kinformer_controllers.horizontalpodautoscaler.controller:HorizontalPodAutoscalerController",
    options=HpaOptions,
    permissions=(
        allow("get list watch", "horizontalpodautoscalers.autoscaling"),
        allow("update", "horizontalpodautoscalers.autoscaling/status"),
        allow("get update", "*.*/scale"),
        allow("list watch", "pods"),
        allow("list watch", "pods.metrics.k8s.io"),
        allow("get list watch", "*.custom.metrics.k8s.io", "*.external.metrics.k8s.io"),
        RECORD_EVENTS,
    ),
    metrics=(
        f"{_PREFIX}_desired_replicas",
        f"{_PREFIX}_metric_computation_duration_seconds",
        f"{_PREFIX}_metric_computation_total",
        f"{_PREFIX}_num_horizontal_pod_autoscalers",
        f"{_PREFIX}_reconciliation_duration_seconds",
        f"{_PREFIX}_reconciliations_total",
    ),
    sharded_by="namespace",
    page="horizontal-pod-autoscaler.md",
    differs="a replica count beyond 32 bits is the greatest one; the names of autoscalers in a message are sorted",
)
