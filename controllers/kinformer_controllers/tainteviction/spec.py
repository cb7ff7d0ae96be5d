"""The taint eviction controller: deletes pods that do not tolerate the NoExecute taints of their node."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="taint-eviction-controller",
    aliases=("taint-eviction",),
    summary="deletes pods that do not tolerate a NoExecute taint",
    factory="kinformer_controllers.tainteviction.controller:TaintEvictionController",
    permissions=(
        allow("get list watch delete", "pods"),
        allow("patch", "pods/status"),
        allow("get list watch", "nodes"),
        RECORD_EVENTS,
    ),
    metrics=(
        "taint_eviction_controller_pod_deletion_duration_seconds",
        "taint_eviction_controller_pod_deletions_total",
    ),
    sharded_by="namespace",
    page="node-lifecycle.md#who-has-to-leave",
    differs="a deletion names the pod's uid, and is tried again until it succeeds",
)
