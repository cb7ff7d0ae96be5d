"""Kinds of dynamic resource allocation: claims of devices, the devices of drivers, and their taints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kinformer.envtest.causes import forbidden, immutable, invalid, required
from kinformer.envtest.registry import Resource
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, Strategy, with_field
from kinformer.envtest.strategy.volumes import DRIVER_NAME

__all__ = ("CLASS_SPEC", "ClaimStrategy", "SliceStrategy", "TaintRuleStrategy", "TEMPLATE_SPEC")

#: Returns the present time, as in objects.
Now = Callable[[], str]


# -- requests ---------------------------------------------------------------------------------------------------------

_EFFECT = f.OneOf("NoExecute", "NoSchedule", "None")
_SELECTORS = f.Each(f.Fields(cel=f.Present()))
#: What the rules about one of several fields say.
_ONE_REQUEST = "exactly one of `exactly` or `firstAvailable` is required"
#: Kubernetes says so if neither is set, too.
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
_A_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


def _check_count(request: Obj, path: str) -> Iterator[Cause]:
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    yield from f.OneOf("All", "ExactCount")(mode, f"{path}.allocationMode")
    if mode == "ExactCount":
        yield from f.POSITIVE(count, f"{path}.count")
    elif mode == "All" and count:
        yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")


def _check_toleration(toleration: Obj, path: str) -> Iterator[Cause]:
    value = toleration.get("value", "")
    if toleration.get("operator") == "Exists" and value:
        yield invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif toleration.get("operator") == "Equal":
        yield from f.LABEL_VALUE(value, f"{path}.value")


_TOLERATION = f.Every(
    f.Fields(key=f.Filled(f.QUALIFIED_NAME), operator=f.Needed(f.OneOf("Equal", "Exists"))),
    _check_toleration,
    f.Fields(effect=f.Filled(_EFFECT)),
)
_WANTED = f.Every(
    f.Fields(deviceClassName=f.Needed(f.DNS_SUBDOMAIN), selectors=_SELECTORS),
    _check_count,
    f.Fields(tolerations=f.Each(_TOLERATION)),
)
_NAME = f.Fields(name=f.DNS_LABEL)
_ALTERNATIVES = f.Each(f.Every(_NAME, _WANTED), f.Unique("name", at_item=True))


def _check_request(request: Obj, path: str) -> Iterator[Cause]:
    exactly, first = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not first:
        yield required(path, _ONE_REQUEST)
    elif exactly is not None and first:
        yield invalid(path, None, f"{_ONE_REQUEST}, but multiple fields are set")
    elif first:
        yield from _ALTERNATIVES(first, f"{path}.firstAvailable")
    else:
        yield from _WANTED(exactly, f"{path}.exactly")


def _check_parameters(parameters: Any, path: str) -> Iterator[Cause]:
    if not isinstance(parameters, dict):
        yield invalid(path, "<value omitted>", "must be a valid JSON object")


def _check_attributes(constraint: Obj, path: str) -> Iterator[Cause]:
    if constraint.get("matchAttribute") is None and constraint.get("distinctAttribute") is None:
        yield required(path, _ONE_ATTRIBUTE)


_CONFIGURATION = f.Fields(opaque=f.Present(f.Fields(driver=DRIVER_NAME, parameters=f.Present(_check_parameters))))
CLASS_SPEC = f.Fields(selectors=_SELECTORS, config=f.Each(_CONFIGURATION))


def _check_devices(devices: Obj | None, path: str) -> Iterator[Cause]:
    devices = devices or {}
    names = set()
    for request in devices.get("requests") or ():
        name = request.get("name", "")
        names |= {name, *(f"{name}/{one.get('name', '')}" for one in request.get("firstAvailable") or ())}

    def check_reference(name: str, path: str) -> Iterator[Cause]:
        if name.count("/") < 2:
            for part in name.split("/"):
                yield from f.DNS_LABEL(part, path)
        if name not in names:
            yield invalid(path, name, _A_REQUEST)

    requests = f.Fields(requests=f.Each(check_reference, f.Unique()))
    yield from f.Fields(
        requests=f.Each(_NAME, _check_request, f.Unique("name", at_item=True)),
        constraints=f.Each(requests, _check_attributes),
        config=f.Each(requests, _CONFIGURATION),
    )(devices, path)


_CLAIM = f.Fields(devices=_check_devices)
TEMPLATE_SPEC = f.Fields(spec=_CLAIM)

# -- kinds ------------------------------------------------------------------------------------------------------------


def _check_place(spec: Obj | None, path: str) -> Iterator[Cause]:
    places = [f"`{name}`" for name in _PLACES if (spec or {}).get(name)]
    if not places:
        yield required(path, _ONE_PLACE)
    elif len(places) > 1:
        yield invalid(path, f"{{{', '.join(places)}}}", f"{_ONE_PLACE}, but multiple fields are set")


def _check_pool_name(name: str, path: str) -> Iterator[Cause]:
    for part in name.split("/"):
        yield from f.DNS_SUBDOMAIN(part, path)


_POOL = f.Fields(name=f.Needed(_check_pool_name), resourceSliceCount=lambda count, path: f.POSITIVE(count or 0, path))
_TAINT = f.Fields(key=f.Needed(f.QUALIFIED_NAME), value=f.Filled(f.LABEL_VALUE), effect=f.Needed(_EFFECT))
_DEVICE = f.Fields(name=f.DNS_LABEL, taints=f.Each(_TAINT))
_SLICE = f.Every(
    f.Fields(driver=DRIVER_NAME, pool=_POOL, nodeName=f.Filled(f.DNS_SUBDOMAIN)),
    _check_place,
    f.Fields(devices=f.Each(_DEVICE, f.Unique("name", at_item=True))),
)


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

    checks = f.Fields(spec=_SLICE)

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

    checks = f.Fields(spec=_CLAIM)

    def validate_replacement(self, obj: Obj, old: Obj) -> list[Cause]:
        return self.validate_update(obj, old)

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
