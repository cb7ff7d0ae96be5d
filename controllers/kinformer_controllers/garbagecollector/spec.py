"""The garbage collector, as kube-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import enable_garbage_collector

__all__ = ("GarbageCollectorOptions", "SPEC")


@dataclass(frozen=True)
class GarbageCollectorOptions:
    concurrent_gc_syncs: int = workers(20, "objects whose owners may be gone, and as many orphaned owners,")
    enable_garbage_collector: bool = enable_garbage_collector()


SPEC: Final = ControllerSpec(
    name="garbage-collector-controller",
    aliases=("garbagecollector",),
    summary="deletes objects that have lost their owners; does foreground deletion and orphaning",
    factory="kinformer_controllers.garbagecollector.controller:make_controller",
    options=GarbageCollectorOptions,
    permissions=(
        # Objects of any kind can have owners of any kind. They are deleted, or lose a reference or a finalizer.
        allow("get list watch patch delete", "*.*"),
        RECORD_EVENTS,
    ),
    metrics=("garbagecollector_controller_resources_sync_error_total",),
    on_leader="its graph needs all owners and dependents, of every kind and in every namespace",
    page="garbage-collector.md",
    differs=(
        "objects are read from the cache first; if an object was deleted and made again with the same name "
        "during a broken watch, the old one counts as deleted; the graph has no debugging page"
    ),
)
