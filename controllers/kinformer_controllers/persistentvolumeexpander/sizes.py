"""Computing the status of a claim during the expansion of its volume.

In: a claim, its volume, and the state of the expansion. Out: the claim's new status. The API's fields mean:
``allocatedResources`` is the promised size, which counts for quotas; ``allocatedResourceStatuses`` is the state of the
expansion; the conditions are for users.
"""

from __future__ import annotations

import copy
from datetime import datetime
from typing import Any, Final

from kinformer.controllerutil.conditions import put_condition, without_condition
from kinformer.meta import Quantity
from kinformer.models import V1PersistentVolumeClaimCondition, V1PersistentVolumeClaimStatus
from kinformer_controllers.shared.volumes.facts import (
    PRE_RESIZE_CAPACITY,
    Claim,
    Volume,
    annotation_of,
    capacity_of,
    requested_storage,
)

__all__ = (
    "claimed_storage",
    "expanded",
    "in_progress",
    "infeasible",
    "is_done",
    "pending_on_node",
    "wants_more",
)

_RESIZING: Final = "Resizing"
_PENDING: Final = "FileSystemResizePending"
_STORAGE: Final = "storage"


def claimed_storage(claim: Claim) -> Quantity:
    """Return the size of a claim in its status."""
    capacity = (claim.status.capacity if claim.status is not None else None) or {}
    return Quantity.parse(capacity.get(_STORAGE, "0"))


def wants_more(claim: Claim, volume: Volume) -> bool:
    """Whether the claim asks for more storage than it has, or an expansion has to be finished."""
    return requested_storage(claim) > claimed_storage(claim) or annotation_of(volume, PRE_RESIZE_CAPACITY) is not None


def is_done(claim: Claim, volume: Volume) -> bool:
    """Whether a claim is as large as requested, and as large as its volume."""
    has = claimed_storage(claim)
    return has >= requested_storage(claim) and has >= capacity_of(volume)


def in_progress(claim: Claim, size: Quantity, now: datetime) -> Any:
    """Return the status while the storage is being expanded."""
    return _status(claim, size, "ControllerResizeInProgress", now, _RESIZING)


def infeasible(claim: Claim, size: Quantity, now: datetime, message: str) -> Any:
    """Return the status after the storage could not be expanded."""
    return _status(claim, size, "ControllerResizeInfeasible", now, "ControllerResizeError", message)


def pending_on_node(claim: Claim, size: Quantity, now: datetime) -> Any:
    """Return the status after the storage was expanded, and before the node has expanded the file system."""
    message = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
    return _status(claim, size, "NodeResizePending", now, _PENDING, message)


def expanded(claim: Claim, size: Quantity) -> Any:
    """Return the status after the expansion."""
    status = _copy(claim)
    status.capacity = {**(status.capacity or {}), _STORAGE: str(size)}
    status.allocated_resources = {**(status.allocated_resources or {}), _STORAGE: str(size)}
    left = {name: what for name, what in (status.allocated_resource_statuses or {}).items() if name != _STORAGE}
    status.allocated_resource_statuses = left or None
    status.conditions = _without_resizing(status.conditions) or None
    return status


def _status(claim: Claim, size: Quantity, state: str, now: datetime, type_: str, message: str | None = None) -> Any:
    status = _copy(claim)
    status.allocated_resources = {**(status.allocated_resources or {}), _STORAGE: str(size)}
    status.allocated_resource_statuses = {**(status.allocated_resource_statuses or {}), _STORAGE: state}
    condition = V1PersistentVolumeClaimCondition(type=type_, status="True", last_transition_time=now, message=message)
    others = [it for it in _without_resizing(status.conditions) if it.type != type_]
    same = [it for it in status.conditions or () if it.type == type_]
    status.conditions = put_condition([*others, *same], condition)
    return status


def _without_resizing(conditions: Any) -> list[Any]:
    for type_ in (_RESIZING, _PENDING, "ControllerResizeError"):
        conditions = without_condition(conditions, type_)
    return list(conditions or ())


def _copy(claim: Claim) -> Any:
    return copy.copy(claim.status) if claim.status is not None else V1PersistentVolumeClaimStatus()
