"""Measures ResourceClaims: their number, and the number of devices of each class that they request.

``gpu.deviceclass.resource.k8s.io/devices`` limits the devices of class gpu. If a request has alternatives, the largest
amount of each class counts. A request for all devices counts as 32, the largest number that one claim can get.

Not counted here: extended resources that are backed by device classes. They are charged to pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kinformer.meta import GroupResource, Quantity
from kinformer.meta.resourcelist import ResourceList, add, maximum
from kinformer_controllers.shared.quota.counts import ONE, count_name
from kinformer_controllers.shared.quota.evaluator import CREATE, UPDATE, GenericEvaluator
from kinformer_controllers.shared.quota.sources import NoSource, ObjectSource
from kinformer_controllers.shared.quota.views import DeviceAsk, device_claim_view

__all__ = ("DEVICE_CLAIMS", "device_claim_evaluator", "device_claim_usage")

DEVICE_CLAIMS: Final = GroupResource("resource.k8s.io", "resourceclaims")

_COUNT: Final = count_name(DEVICE_CLAIMS)
_OF_CLASS: Final = ".deviceclass.resource.k8s.io/devices"
#: The largest number of devices that one claim can get.
_MOST: Final = 32


def device_claim_usage(obj: Any) -> ResourceList:
    """
    Return what a ResourceClaim uses.

    :raises UnreadableObject: if the object is not a ResourceClaim
    """
    devices = device_claim_view(obj).spec.devices
    used: ResourceList = {_COUNT: ONE}
    for request in (devices.requests if devices is not None else None) or ():
        if request.first_available:
            most: ResourceList = {}
            for alternative in request.first_available:
                most = maximum(most, _devices(alternative))
            used = add(used, most)
        elif request.exactly is not None:
            used = add(used, _devices(request.exactly))
    return used


def device_claim_evaluator(source: ObjectSource | None = None) -> GenericEvaluator:
    """Make the evaluator of ResourceClaims."""
    return _DeviceClaimEvaluator(
        DEVICE_CLAIMS, (_COUNT,), device_claim_usage, operations={"": (CREATE, UPDATE)}, source=source or NoSource()
    )


class _DeviceClaimEvaluator(GenericEvaluator):
    def matching_resources(self, names: Iterable[str]) -> list[str]:
        """Return the names that are measured, with those of all device classes, whether these exist or not."""
        return sorted({name for name in names if name == _COUNT or name.endswith(_OF_CLASS)})


def _devices(asked: DeviceAsk) -> ResourceList:
    # The API server's defaults: the mode ExactCount, and the count 1. An unknown mode of a later version counts as 0.
    match asked.allocation_mode or "ExactCount":
        case "ExactCount":
            count = 1 if asked.count is None else asked.count
        case "All":
            count = _MOST
        case _:
            count = 0
    return {f"{asked.device_class_name}{_OF_CLASS}": Quantity.of(count)}
