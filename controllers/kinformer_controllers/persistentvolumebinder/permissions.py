"""The permissions of the persistent volume binder at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch create update delete", "persistentvolumes"),
    allow("update", "persistentvolumes/status"),
    allow("get list watch update", "persistentvolumeclaims"),
    allow("update", "persistentvolumeclaims/status"),
    allow("list watch", "storageclasses.storage.k8s.io"),
    allow("list watch create delete", "pods"),
    allow("get", "nodes"),
    RECORD_EVENTS,
)
