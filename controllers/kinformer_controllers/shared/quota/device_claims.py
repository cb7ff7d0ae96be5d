"""Resource claims: how many, and how many devices of each class they ask for.

``gpu.deviceclass.resource.k8s.io/devices`` limits the devices of class gpu. Of alternatives, the one that asks for most
counts; who asks for all devices that there are is charged for the most that a claim can get.

What is not here are extended resources that are backed by device classes: pods are charged for those, and claims only
for what they ask for themselves.
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
#: Devices that one claim can get at most.
_MOST: Final = 32


def device_claim_usage(obj: Any) -> ResourceList:
    """
    What a resource claim uses.

    :raises UnreadableObject: if it is no resource claim
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
    """Measures resource claims."""
    return _DeviceClaimEvaluator(
        DEVICE_CLAIMS, (_COUNT,), device_claim_usage, operations={"": (CREATE, UPDATE)}, source=source or NoSource()
    )


class _DeviceClaimEvaluator(GenericEvaluator):
    def matching_resources(self, names: Iterable[str]) -> list[str]:
        """The names of all classes are matched, whether there is such a class or not."""
        return sorted({name for name in names if name == _COUNT or name.endswith(_OF_CLASS)})


def _devices(asked: DeviceAsk) -> ResourceList:
    # What is not said, the API server has filled in: exactly one. A mode of later versions counts for nothing.
    match asked.allocation_mode or "ExactCount":
        case "ExactCount":
            count = 1 if asked.count is None else asked.count
        case "All":
            count = _MOST
        case _:
            count = 0
    return {f"{asked.device_class_name}{_OF_CLASS}": Quantity.of(count)}
