"""Kinds of dynamic resource allocation: claims of devices, the devices of drivers, and their taints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kinformer.envtest.causes import forbidden, immutable
from kinformer.envtest.registry import Resource
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy, with_field

__all__ = ("ClaimStrategy", "SliceStrategy", "TaintRuleStrategy")

#: Returns the present time, as in objects.
Now = Callable[[], str]


class _DatedStrategy(Strategy):
    """
    Kinds with taints. A taint begins now unless it says when.

    :param now: returns the present time, as in objects
    """

    def __init__(self, resource: Resource, now: Now):
        super().__init__(resource)
        self._now = now

    def _date(self, taints: Any) -> None:
        for taint in taints:
            if taint.get("timeAdded") is None:
                taint["timeAdded"] = self._now()


class SliceStrategy(_DatedStrategy):
    """ResourceSlices."""

    def unsupported_field(self, label: str) -> str:
        return f"field label not supported for {self.resource.api_version}, Kind={self.resource.kind}: {label}"

    def default(self, obj: Obj) -> None:
        super().default(obj)
        for device in (obj.get("spec") or {}).get("devices") or ():
            self._date(device.get("taints") or ())


class TaintRuleStrategy(_DatedStrategy):
    """DeviceTaintRules. The time of the taint is when it got its present effect."""

    def default(self, obj: Obj) -> None:
        super().default(obj)
        self._date([obj["spec"]["taint"]])

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        taint, before = obj["spec"]["taint"], old["spec"]["taint"]
        if taint.get("effect") != before.get("effect") and taint["timeAdded"] == before.get("timeAdded"):
            taint["timeAdded"] = self._now()
        super().prepare_for_update(obj, old)


class ClaimStrategy(Strategy):
    """ResourceClaims. Their spec never changes, and neither does an allocation that is there."""

    def prepare_for_status_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_status_update(obj, old)
        freed = set(map(_device, _allocated(old))).difference(map(_device, _allocated(obj)))
        if freed and (status := obj.get("status")):
            kept = [device for device in status.get("devices") or () if _device(device) not in freed]
            with_field(status, "devices", kept or None)

    def validate_subresource_change(self, subresource: str, obj: Obj, old: Obj) -> list[Cause]:
        return list(_check_status(obj, obj.get("status") or {}, old.get("status") or {}))


def _allocated(claim: Obj) -> list[Obj]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


def _device(result: Obj) -> tuple[Any, ...]:
    return tuple(result.get(name) for name in ("driver", "pool", "device", "shareID"))


def _check_status(claim: Obj, status: Obj, old: Obj) -> Iterator[Cause]:
    where, users = "status.reservedFor", status.get("reservedFor") or []
    if users and status.get("allocation") is None:
        yield forbidden(where, "may not be specified when `allocated` is not set")
    elif "deletionTimestamp" in claim["metadata"] and any(user not in (old.get("reservedFor") or ()) for user in users):
        told = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        yield forbidden(where, told)
    if status.get("allocation") is not None and old.get("allocation") is not None:
        yield from immutable(status["allocation"], old["allocation"], "status.allocation")
