"""LimitRanges: containers get default requests and limits, and objects that are out of range are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.admission import AdmissionPlugin, Attributes
from kinformer.envtest.storage import Storage
from kinformer.meta.names import GroupResource
from kinformer.meta.quantity import Quantity
from kinformer.meta.resourcelist import Amounts, ResourceList, add, load, mask, maximum, total

__all__ = ("LimitRanger",)

Obj = dict[str, Any]

_RANGES = GroupResource("", "limitranges")
_PODS = GroupResource("", "pods")
_CLAIMS = GroupResource("", "persistentvolumeclaims")
_ANNOTATION = "kubernetes.io/limit-ranger"
_OF_PODS = ("cpu", "memory")


class LimitRanger(AdmissionPlugin):
    """The admission plug-in for new pods, for claims, and for pods that are resized."""

    def __init__(self, storage: Storage):
        self._storage = storage

    def _ranges(self, attributes: Attributes) -> list[list[Obj]]:
        """The limits of each LimitRange that applies to the object."""
        what, operation = attributes.resource.group_resource, attributes.operation
        if attributes.object is None or attributes.subresource not in ("", "resize" if what == _PODS else ""):
            return []
        if what not in (_PODS, _CLAIMS) or (what == _PODS and operation == "UPDATE" and not attributes.subresource):
            return []
        if attributes.old_object is not None and "deletionTimestamp" in attributes.old_object["metadata"]:
            return []
        found = self._storage.log(_RANGES).select(attributes.namespace)
        return [list((version.decode().get("spec") or {}).get("limits") or ()) for version in found]

    def admit(self, attributes: Attributes) -> None:
        pod = attributes.object
        if attributes.resource.group_resource != _PODS or attributes.operation != "CREATE" or pod is None:
            return
        for limits in self._ranges(attributes):
            _fill_in(pod, limits)

    def validate(self, attributes: Attributes) -> None:
        """
        :raises StatusError: Forbidden, with all amounts that are out of range
        """
        for limits in self._ranges(attributes):
            assert attributes.object is not None
            check = _check_pod if attributes.resource.group_resource == _PODS else _check_claim
            if wrong := list(check(attributes.object, limits)):
                why = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
                raise status.forbidden(attributes.resource.group_resource, attributes.name, why)


def _fill_in(pod: Obj, limits: Any) -> None:
    defaults: dict[str, Obj] = {"requests": {}, "limits": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            defaults["requests"] |= limit.get("defaultRequest") or {}
            defaults["limits"] |= limit.get("default") or {}
    told: list[str] = []
    for kind, name in (("container", "containers"), ("init container", "initContainers")):
        for container in pod["spec"].get(name) or ():
            told += _fill_in_container(container, defaults, kind)
    if told:
        annotations = pod["metadata"].get("annotations") or {}
        text = f"LimitRanger plugin set: {'; '.join(told)}"
        pod["metadata"]["annotations"] = {**annotations, _ANNOTATION: text}


def _fill_in_container(container: Obj, defaults: dict[str, Obj], kind: str) -> Iterator[str]:
    resources = container.setdefault("resources", {})
    for part, word in (("requests", "request"), ("limits", "limit")):
        given = resources.get(part) or {}
        missing = {name: amount for name, amount in defaults[part].items() if name not in given}
        if missing:
            resources[part] = {**given, **missing}
            yield f"{', '.join(sorted(missing))} {word} for {kind} {container.get('name', '')}"


def _check_claim(claim: Obj, limits: Any) -> Iterator[str]:
    requests = load((claim["spec"].get("resources") or {}).get("requests"))
    for limit in limits:
        if limit.get("type") == "PersistentVolumeClaim":
            bounds = {name: limit.get(name) for name in ("min", "max")}
            yield from _check(bounds, "PersistentVolumeClaim", requests, requests, "request")


def _check_pod(pod: Obj, limits: Any) -> Iterator[str]:
    spec = pod["spec"]
    for limit in limits:
        kind = limit.get("type")
        if kind == "Container":
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
                resources = container.get("resources") or {}
                yield from _check(limit, kind, load(resources.get("requests")), load(resources.get("limits")))
        elif kind == "Pod":
            yield from _check(limit, kind, _of_pod(spec, "requests"), _of_pod(spec, "limits"))


def _of_pod(spec: Obj, part: str) -> ResourceList:
    """The amounts of a whole pod: the sum of its containers and sidecars, or the most that its init containers need."""

    def needs(of: Obj) -> ResourceList:
        return load((of.get("resources") or {}).get(part))

    whole = total(map(needs, spec.get("containers") or ()))
    beside: ResourceList = {}
    most: ResourceList = {}
    for container in spec.get("initContainers") or ():
        needed = add(beside, needs(container))
        most = maximum(most, needed)
        if container.get("restartPolicy") == "Always":
            whole, beside = add(whole, needs(container)), needed
    return {**maximum(whole, most), **mask(needs(spec), _OF_PODS)}


def _sorted(limit: Obj, part: str) -> list[tuple[str, Quantity]]:
    return sorted(load(limit.get(part)).items(), key=lambda item: item[0])


def _check(limit: Obj, kind: str, requests: Amounts, limits: Amounts, word: str = "limit") -> Iterator[str]:
    """
    The errors of amounts that are beyond the bounds of a LimitRange's item.

    :param word: what errors call an amount of `limits`
    """
    for name, least in _sorted(limit, "min"):
        yield from _check_least(kind, name, least, requests, limits)
    for name, most in _sorted(limit, "max"):
        said = f"maximum {name} usage per {kind} is {most}"
        if name not in limits:
            yield f"{said}.  No {word} is specified"
        elif limits[name] > most:
            yield f"{said}, but {word} is {limits[name]}"
        elif name in requests and requests[name] > most:
            yield f"{said}, but request is {requests[name]}"
    for name, most in _sorted(limit, "maxLimitRequestRatio"):
        said = f"{name} max limit to request ratio per {kind} is {most}"
        if not requests.get(name):
            yield f"{said}, but no request is specified or request is 0"
        elif not limits.get(name):
            yield f"{said}, but no limit is specified or limit is 0"
        elif (ratio := float(limits[name]) / float(requests[name])) > float(most):
            yield f"{said}, but provided ratio is {ratio:f}"


def _check_least(kind: str, name: str, least: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    said = f"minimum {name} usage per {kind} is {least}"
    if name not in requests:
        yield f"{said}.  No request is specified"
    elif requests[name] < least:
        yield f"{said}, but request is {requests[name]}"
    elif name in limits and limits[name] < least:
        yield f"{said}, but limit is {limits[name]}"
