"""How pods are written."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from kinformer.envtest.causes import invalid
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy, with_field, with_fields
from kinformer.envtest.strategy.fields import QUALIFIED_NAME, Between, Each, Every, Fields
from kinformer.envtest.strategy.pod_checks import check_pod_spec, check_pod_update
from kinformer.envtest.strategy.pod_warnings import pod_warnings
from kinformer.envtest.strategy.podspec import default_pod

__all__ = ("PodStrategy", "tolerate")

_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_QOS_RESOURCES = ("cpu", "memory")
_ZERO = ("0", "")


def _check_type(condition: Obj, path: str) -> Iterable[Cause]:
    return QUALIFIED_NAME(condition.get("type"), f"{path}.Type")  # as it is spelled in Go


_COUNTED = Fields(observedGeneration=Between(0, None, "must be a non-negative integer"))
_CHECK_STATUS = Every(Fields(conditions=Each(_COUNTED, _check_type)), _COUNTED)


class PodStrategy(Strategy):
    """
    How pods are written.

    A delete has a grace period, except for a pod that has no node or has finished. A new pod gets the quality of
    service class, the tolerations and the priority that admission plugins set in the real server.
    """

    checks = Fields(spec=partial(check_pod_spec, of_pod=True))

    def warnings_of_change(self, obj: Obj, old: Obj | None) -> list[str]:
        # Most changes of pods come from programs, and warnings are for people.
        return list(pod_warnings(obj)) if old is None else []

    def default(self, obj: Obj) -> None:
        default_pod(obj.setdefault("spec", {}))
        if status := obj.get("status"):
            _one_address(status)

    def read_fields(self, obj: Obj) -> dict[str, str]:
        # The API accepts the field `status.podIPs`, but the real server never gives it a value.
        return {**super().read_fields(obj), "status.podIPs": ""}

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        tolerate(obj["spec"])

    def initial_status(self, obj: Obj) -> Obj:
        status: Obj = {"phase": "Pending", "qosClass": qos_class(obj["spec"])}
        if obj["spec"].get("schedulingGates"):
            text = "Scheduling is blocked due to non-empty scheduling gates"
            condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": text}
            status["conditions"] = [{**condition, "lastProbeTime": None, "lastTransitionTime": None}]
        return status

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        spec = obj["spec"]
        tolerate(spec)
        for name in ("priority", "preemptionPolicy"):
            if name in old["spec"]:
                spec.setdefault(name, old["spec"][name])
        super().prepare_for_update(obj, old)

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        return list(check_pod_update(obj["spec"], old["spec"]))

    def prepare_for_status_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_status_update(obj, old)
        if qos := old.get("status", {}).get("qosClass"):
            obj.setdefault("status", {}).setdefault("qosClass", qos)

    def prepare_for_subresource_update(self, subresource: str, obj: Obj, old: Obj) -> None:
        if subresource in ("ephemeralcontainers", "resize"):
            _only(subresource, obj, old)
            self.default(obj)
            self.count_generation(obj, old)

    def validate_subresource(self, subresource: str, obj: Obj) -> list[Cause]:
        if subresource not in ("ephemeralcontainers", "resize"):
            return [*_CHECK_STATUS(obj.get("status"), "status")]
        causes = self.validate(obj)
        qos = obj.get("status", {}).get("qosClass")
        if subresource == "resize" and qos not in (None, qos_class(obj["spec"])):
            causes.append(invalid("spec", qos, "Pod QOS Class may not change as a result of resizing"))
        return causes

    def grace_period(self, obj: Obj, asked: int | None) -> int | None:
        if not obj["spec"].get("nodeName") or obj.get("status", {}).get("phase") in ("Failed", "Succeeded"):
            return 0
        period = obj["spec"].get("terminationGracePeriodSeconds", 30) if asked is None else asked
        return 1 if period < 0 else int(period)


def _only(subresource: str, obj: Obj, old: Obj) -> None:
    """Undo all changes that do not belong to this subresource of a pod."""
    spec, metadata = obj["spec"], with_fields(old["metadata"], obj["metadata"], "managedFields", "resourceVersion")
    is_resize = subresource == "resize"
    kept = with_fields(old["spec"], spec, "resources" if is_resize else "ephemeralContainers")
    if is_resize:
        for name in ("containers", "initContainers"):
            pairs = list(zip(spec.get(name) or (), old["spec"].get(name) or (), strict=False))
            if len(pairs) != len(old["spec"].get(name) or ()) or any(a.get("name") != b.get("name") for a, b in pairs):
                continue
            resized = [with_fields(before, mine, "resources", "resizePolicy") for mine, before in pairs]
            with_field(kept, name, resized or None)
    obj.clear()
    obj.update({**old, "metadata": metadata, "spec": kept})


def _one_address(status: Obj) -> None:
    """``podIP`` and the first of ``podIPs`` are the same address. A change of ``podIP`` alone changes both."""
    address, addresses = status.get("podIP"), status.get("podIPs") or []
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip", "")


def tolerate(spec: Obj) -> None:
    """Let a pod stay five minutes on a node that is not ready or not reachable, unless it has other tolerations."""
    tolerations: list[Obj] = spec.get("tolerations") or []
    for key in (_NOT_READY, _UNREACHABLE):
        if not any(
            one.get("key", "") in (key, "") and one.get("effect", "") in ("NoExecute", "") for one in tolerations
        ):
            added = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            tolerations = [*tolerations, added]
    spec["tolerations"] = tolerations


def qos_class(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort. It depends on the requests and limits of the containers."""
    if (of_pod := spec.get("resources")) and (of_pod.get("requests") or of_pod.get("limits")):
        containers: list[Any] = [{"resources": of_pod}]
    else:
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    resources = [container.get("resources") or {} for container in containers]
    amounts = [(_counted(one.get("requests")), _counted(one.get("limits"))) for one in resources]
    if not any(map(any, amounts)):
        return "BestEffort"
    is_guaranteed = all(set(limits) == set(_QOS_RESOURCES) and requests == limits for requests, limits in amounts)
    return "Guaranteed" if is_guaranteed else "Burstable"


def _counted(resources: Obj | None) -> Obj:
    return {name: value for name, value in (resources or {}).items() if name in _QOS_RESOURCES and value not in _ZERO}
