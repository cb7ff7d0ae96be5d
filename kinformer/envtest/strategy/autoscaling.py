"""Horizontal pod autoscalers, in the two versions of their API.

They are stored as autoscaling/v2. What v1 has no fields for is in annotations there: metrics other than the utilization
of CPU, the behavior, and the conditions. They are in v2's form, and not in that of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kinformer.envtest.registry.schema import Problems, check_model
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy, with_field
from kinformer.envtest.strategy.checks import (
    check_names,
    forbidden,
    invalid,
    not_less_than_zero,
    not_supported,
    required,
)
from kinformer.envtest.strategy.metadata import path_segment
from kinformer.meta.quantity import Quantity

__all__ = ("AutoscalerStrategy", "OldAutoscalerStrategy", "to_old_autoscaler")

_CPU = 80
_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_SOURCE_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TARGETS = ("Utilization", "Value", "AverageValue")
_LONGEST_WINDOW = 3600
_LONGEST_PERIOD = 1800


def _check(spec: Obj) -> Iterator[Cause]:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        yield invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    yield from _check_reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", any_group=False)
    for index, metric in enumerate(spec.get("metrics") or ()):
        yield from _check_metric(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(one.get("type") in ("Object", "External") for one in spec.get("metrics") or ()):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", text)
    behavior = spec.get("behavior") or {}
    for name in ("scaleUp", "scaleDown"):
        if (rules := behavior.get(name)) is not None:
            yield from _check_rules(rules, f"spec.behavior.{name}")


class AutoscalerStrategy(Strategy):
    """autoscaling/v2."""

    check_spec = staticmethod(_check)

    def default(self, obj: Obj) -> None:
        super().default(obj)
        if not obj["spec"].get("metrics"):
            obj["spec"]["metrics"] = [_cpu_metric(_CPU)]
        _drop_annotations(obj["metadata"])

    def prepare_for_create(self, obj: Obj) -> None:
        obj["status"] = {"currentMetrics": None, "desiredReplicas": 0}

    def validate_subresource(self, subresource: str, obj: Obj) -> list[Cause]:
        return list(not_less_than_zero(obj.get("status") or {}, "status", "currentReplicas", "desiredReplicas"))


def _cpu_metric(utilization: int) -> Obj:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


# -- validation -------------------------------------------------------------------------------------------------------


def _check_reference(reference: Obj, path: str, any_group: bool) -> Iterator[Cause]:
    for name in ("kind", "name"):
        if not reference.get(name):
            yield required(f"{path}.{name}")
        else:
            yield from check_names(reference[name], f"{path}.{name}", path_segment)
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif not any_group and "/" not in version:
        yield invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _check_rules(rules: Obj, path: str) -> Iterator[Cause]:
    if (window := rules.get("stabilizationWindowSeconds")) is not None:
        if window < 0:
            yield invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
        if window > _LONGEST_WINDOW:
            text = f"must be less than or equal to {_LONGEST_WINDOW}"
            yield invalid(f"{path}.stabilizationWindowSeconds", window, text)
    policy = rules.get("selectPolicy")
    if policy not in (None, "Disabled", "Max", "Min"):
        yield not_supported(f"{path}.selectPolicy", policy, ("Disabled", "Max", "Min"))
    policies = rules.get("policies") or ()
    if not policies:
        yield required(f"{path}.policies", "must specify at least one Policy")
    for index, one in enumerate(policies):
        here = f"{path}.policies[{index}]"
        if (kind := one.get("type")) not in ("Pods", "Percent"):
            yield not_supported(f"{here}.type", kind, ("Percent", "Pods"))
        for name in ("value", "periodSeconds"):
            if one.get(name, 0) <= 0:
                yield invalid(f"{here}.{name}", one.get(name, 0), "must be greater than zero")
        if (period := one.get("periodSeconds", 0)) > _LONGEST_PERIOD:
            yield invalid(f"{here}.periodSeconds", period, f"must be less than or equal to {_LONGEST_PERIOD}")


def _check_metric(metric: Obj, path: str) -> Iterator[Cause]:
    kind = metric.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        yield not_supported(f"{path}.type", kind, _SOURCE_TYPES)
    present = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if present:
        yield from _check_source(present[0], metric[present[0]], f"{path}.{present[0]}")
    expected = _SOURCES.get(kind)
    if expected is None:
        yield not_supported(f"{path}.type", kind, _SOURCE_TYPES)
    elif expected not in present:
        yield required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(present) != 1:
        for name in present:
            if name != expected:
                yield forbidden(f"{path}.{name}", "must populate the given metric source only")


def _check_source(kind: str, source: Obj, path: str) -> Iterator[Cause]:
    target = source.get("target") or {}
    if kind == "object":
        yield from _check_reference(source.get("describedObject") or {}, f"{path}.describedObject", any_group=True)
    if kind in ("object", "external", "pods"):
        name = (source.get("metric") or {}).get("name")
        if not name:
            yield required(f"{path}.metric.name", "must specify a metric name")
        else:
            yield from check_names(name, f"{path}.metric.name", path_segment)
    else:
        if not source.get("name"):
            yield required(f"{path}.name", "must specify a resource name")
        if kind == "containerResource" and not source.get("container"):
            yield required(f"{path}.container", "must specify a container")
    yield from _check_target(target, f"{path}.target")
    value, average, utilization = (target.get(name) for name in ("value", "averageValue", "averageUtilization"))
    if kind in ("object", "external"):
        if value is None and average is None:
            yield required(f"{path}.target.averageValue", "must set either a target value or averageValue")
        if kind == "external" and value is not None and average is not None:
            text = "may not set both a target value for metric and a per-pod target"
            yield forbidden(f"{path}.target.value", text)
    elif kind == "pods":
        if average is None:
            yield required(f"{path}.target.averageValue", "must specify a positive target averageValue")
    elif utilization is None and average is None:
        text = "must set either a target raw value or a target utilization"
        yield required(f"{path}.target.averageUtilization", text)
    elif utilization is not None and average is not None:
        text = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{path}.target.averageValue", text)


def _check_target(target: Obj, path: str) -> Iterator[Cause]:
    kind = target.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        yield invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if (amount := target.get(name)) is not None and Quantity.parse(amount).sign != 1:
            yield invalid(f"{path}.{name}", amount, "must be positive")
    if (utilization := target.get("averageUtilization")) is not None and utilization < 1:
        yield invalid(f"{path}.averageUtilization", utilization, "must be greater than 0")


# -- autoscaling/v1 ---------------------------------------------------------------------------------------------------

#: The beginning of the names of annotations that hold in v1 what v1 has no fields for.
_PREFIX = "autoscaling.alpha.kubernetes.io/"
_HELD = ("metrics", "behavior", "conditions")


class OldAutoscalerStrategy(AutoscalerStrategy):
    """autoscaling/v1."""

    is_converted = True

    def check(self, data: Obj, problems: Problems) -> Obj:
        checked = super().check(data, problems)
        return checked if problems.error is not None else _from_old(checked)

    def shown(self, obj: Obj) -> Obj:
        return to_old_autoscaler(obj)


def _drop_annotations(metadata: Obj) -> None:
    held = {_PREFIX + name for name in _HELD}
    kept = {name: text for name, text in (metadata.get("annotations") or {}).items() if name not in held}
    with_field(metadata, "annotations", kept or None)


def _from_old(old: Obj) -> Obj:
    spec, status = {**old.get("spec", {})}, {**old.get("status", {})}
    annotations = (old.get("metadata") or {}).get("annotations") or {}
    held = _read({name: annotations[_PREFIX + name] for name in _HELD if _PREFIX + name in annotations})
    metrics = held.pop("metrics", None) or []
    if (utilization := spec.pop("targetCPUUtilizationPercentage", None)) is not None:
        metrics.append(_cpu_metric(utilization))
    with_field(spec, "metrics", metrics or None)
    with_field(spec, "behavior", held.get("behavior"))
    current = status.pop("currentCPUUtilizationPercentage", None)
    status["currentMetrics"] = None
    if current is not None:
        value = {"averageUtilization": current}
        status["currentMetrics"] = [{"type": "Resource", "resource": {"name": "cpu", "current": value}}]
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    with_field(status, "conditions", held.get("conditions"))
    return {**old, "spec": spec, "status": status}


def _read(texts: Obj) -> Obj:
    """What annotations hold. Nothing if they are not by this server, as they may hold anything then."""
    problems = Problems()
    try:
        held = {name: msgspec.json.decode(text) for name, text in texts.items()}
    except msgspec.DecodeError:
        return {}
    of_status = {"conditions": held.pop("conditions")} if "conditions" in held else {}
    read = {
        **check_model("V2HorizontalPodAutoscalerSpec", held, problems),
        **check_model("V2HorizontalPodAutoscalerStatus", of_status, problems),
    }
    return {} if problems.error is not None else {name: read.get(name) for name in texts}


def to_old_autoscaler(new: Obj) -> Obj:
    """Convert a stored autoscaler to autoscaling/v1."""
    spec, status = {**new.get("spec", {})}, {**new.get("status", {})}
    metrics = spec.pop("metrics", None) or []
    targets = [_cpu_value(metric, "target") for metric in metrics]
    utilization = next((one for one in targets if one is not None), None)
    with_field(spec, "targetCPUUtilizationPercentage", utilization)
    current = [_cpu_value(metric, "current") for metric in status.pop("currentMetrics", None) or ()]
    with_field(status, "currentCPUUtilizationPercentage", next((one for one in current if one is not None), None))
    held = {
        "metrics": [metric for metric, target in zip(metrics, targets, strict=True) if target is None],
        "behavior": spec.pop("behavior", None),
        "conditions": status.pop("conditions", None),
    }
    status = {"currentReplicas": 0, "desiredReplicas": 0, **status}
    metadata = {**new["metadata"]}
    texts = {_PREFIX + name: msgspec.json.encode(value).decode() for name, value in held.items() if value}
    with_field(metadata, "annotations", {**(metadata.get("annotations") or {}), **texts} or None)
    return {**new, "metadata": metadata, "spec": spec, "status": status}


def _cpu_value(metric: Obj, of: str) -> int | None:
    """The utilization of CPU in a metric. None if it is another metric."""
    resource = metric.get("resource") or {}
    is_cpu = metric.get("type") == "Resource" and resource.get("name") == "cpu"
    value: int | None = (resource.get(of) or {}).get("averageUtilization") if is_cpu else None
    return value
