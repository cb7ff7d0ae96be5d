"""The attach/detach controller, as in kube-controller-manager: it attaches volumes to nodes, and detaches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, option
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("AttachDetachOptions", "SPEC")


@dataclass(frozen=True)
class AttachDetachOptions:
    attach_detach_reconcile_sync_period: float = duration(
        60.0, "How often the attachments of all volumes are checked.", minimum=1.0
    )
    disable_attach_detach_reconcile_sync: bool = option(
        False, "Whether the attachments of volumes are not checked again. Then an attachment that is lost stays lost."
    )
    disable_force_detach_on_timeout: bool = option(
        False,
        "Whether a volume that a node still uses stays attached, however long the node is not ready. Then only the "
        "taint node.kubernetes.io/out-of-service frees it.",
    )


SPEC: Final = ControllerSpec(
    name="persistentvolume-attach-detach-controller",
    aliases=("attachdetach",),
    summary="attaches volumes to the nodes of their pods, and detaches them afterwards",
    factory="kinformer_controllers.attachdetach.controller:AttachDetachController",
    options=AttachDetachOptions,
    permissions=(
        allow("list watch", "persistentvolumes", "persistentvolumeclaims", "pods"),
        allow("get list watch", "nodes"),
        allow("patch", "nodes/status"),
        allow("get list watch create delete", "volumeattachments.storage.k8s.io"),
        allow("list watch", "csidrivers.storage.k8s.io"),
        RECORD_EVENTS,
    ),
    metrics=(
        "attach_detach_controller_attachdetach_controller_forced_detaches",
        "attachdetach_controller_total_volumes",
        "storage_count_attachable_volumes_in_use",
        "storage_operation_duration_seconds",
    ),
    on_leader="what is attached to a node is known only from the pods of all namespaces",
    page="attach-detach.md",
    differs="asks the server for the node and its pods before it detaches; no FlexVolumes",
)
