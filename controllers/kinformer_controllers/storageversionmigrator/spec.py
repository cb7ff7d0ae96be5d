"""The storage version migrator, as in kube-controller-manager: it does what StorageVersionMigrations ask for."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import GateOptions

__all__ = ("SPEC",)

_MIGRATIONS: Final = "storageversionmigrations.storagemigration.k8s.io"
_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"

SPEC: Final = ControllerSpec(
    name="storage-version-migrator-controller",
    aliases=("svm",),
    summary="writes the objects of a resource anew, in the version that the API server stores now",
    factory="kinformer_controllers.storageversionmigrator.controller:make_controller",
    options=GateOptions,
    permissions=(
        allow("list watch", _MIGRATIONS),
        allow("update", f"{_MIGRATIONS}/status"),
        # A patch of an object that is gone counts as a creation. It names the uid, so the server creates nothing.
        allow("list patch create", "*.*"),
        allow("get", _DEFINITIONS),
        allow("patch", f"{_DEFINITIONS}/status"),
    ),
    on_leader="migrations of a resource run one after the other",
    feature_gate="StorageVersionMigrator",
    page="storage-versions.md#migrations",
    differs=(
        "objects are listed from the server, so the garbage collector is not needed; after a migration that failed, "
        "a CustomResourceDefinition keeps its stored versions"
    ),
)
