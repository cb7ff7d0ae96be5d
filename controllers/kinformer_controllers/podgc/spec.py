"""The pod garbage collector, as in kube-controller-manager: it deletes pods that no other component deletes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import option
from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("PodGCOptions", "SPEC")


@dataclass(frozen=True)
class PodGCOptions:
    terminated_pod_gc_threshold: int = option(
        12500,
        "How many terminated pods may exist before the oldest of them are deleted. 0 or less: they are never deleted.",
    )


SPEC: Final = ControllerSpec(
    name="pod-garbage-collector-controller",
    aliases=("podgc",),
    summary="deletes pods that nothing else deletes: too many ended pods, pods of nodes that are gone",
    factory="kinformer_controllers.podgc.controller:PodGCController",
    options=PodGCOptions,
    permissions=(
        allow("list watch delete", "pods"),
        allow("patch", "pods/status"),
        allow("get list watch", "nodes"),
    ),
    metrics=(
        "pod_gc_collector_force_delete_pod_errors_total",
        "pod_gc_collector_force_delete_pods_total",
    ),
    on_leader="counts the pods that have ended in all namespaces, and deletes those of lost nodes one after the other",
    page="podgc.md",
    differs="a deletion names the pod's uid",
)
