"""Horizontal pod autoscalers, in the two versions of their API.

They are stored as autoscaling/v2. Fields that v1 does not have are annotations in v1: metrics other than the
utilization of CPU, the behavior, and the conditions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from kinformer.envtest.datafiles import read_table
from kinformer.envtest.registry.schema import Problems
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

_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"


class OldAutoscalerStrategy(AutoscalerStrategy):
    """autoscaling/v1."""

    is_converted = True

    def check(self, data: Obj, problems: Problems) -> Obj:
        checked = super().check(data, problems)
        return checked if problems.error is not None else _from_old(checked)

    def shown(self, obj: Obj) -> Obj:
        return to_old_autoscaler(obj)


def _drop_annotations(metadata: Obj) -> None:
    present = metadata.get("annotations") or {}
    if kept := {
        name: text for name, text in present.items() if name not in (_METRICS, _CURRENT, _BEHAVIOR, _CONDITIONS)
    }:
        metadata["annotations"] = kept
    else:
        metadata.pop("annotations", None)


def _from_old(old: Obj) -> Obj:
    spec, status = {**old.get("spec", {})}, {**old.get("status", {})}
    annotations = (old.get("metadata") or {}).get("annotations") or {}
    metrics = [_new_metric(one) for one in _read(annotations.get(_METRICS), [])]
    if (utilization := spec.pop("targetCPUUtilizationPercentage", None)) is not None:
        metrics.append(_cpu_metric(utilization))
    with_field(spec, "metrics", metrics or None)
    if behavior := _read(annotations.get(_BEHAVIOR), None):
        spec["behavior"] = _renamed(behavior, str.lower)
    current = status.pop("currentCPUUtilizationPercentage", None)
    status["currentMetrics"] = None
    if current is not None:
        value = {"averageUtilization": current}
        status["currentMetrics"] = [{"type": "Resource", "resource": {"name": "cpu", "current": value}}]
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    if conditions := _read(annotations.get(_CONDITIONS), None):
        status["conditions"] = conditions
    return {**old, "spec": spec, "status": status}


def to_old_autoscaler(new: Obj) -> Obj:
    """Convert a stored autoscaler to autoscaling/v1."""
    spec, status = {**new.get("spec", {})}, {**new.get("status", {})}
    annotations = {**(new["metadata"].get("annotations") or {})}
    others = []
    for metric in spec.pop("metrics", None) or ():
        resource = metric.get("resource") or {}
        utilization = (resource.get("target") or {}).get("averageUtilization")
        if metric.get("type") == "Resource" and resource.get("name") == "cpu" and utilization is not None:
            spec.setdefault("targetCPUUtilizationPercentage", utilization)
        else:
            others.append(_old_metric(metric))
    if others:
        annotations[_METRICS] = _encode(others)
    if behavior := spec.pop("behavior", None):
        annotations[_BEHAVIOR] = _encode(_renamed(behavior, str.upper))
    for metric in status.pop("currentMetrics", None) or ():
        resource = metric.get("resource") or {}
        current = (resource.get("current") or {}).get("averageUtilization")
        if resource.get("name") == "cpu" and current is not None:
            status["currentCPUUtilizationPercentage"] = current
    if conditions := status.pop("conditions", None):
        annotations[_CONDITIONS] = _encode(conditions)
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)
    metadata = {**new["metadata"]}
    with_field(metadata, "annotations", annotations or None)
    return {**new, "metadata": metadata, "spec": spec, "status": status}


def _renamed(value: Any, change: Any) -> Any:
    """A value with the first letter of every field changed. The annotations use the names of Go's fields."""
    if isinstance(value, dict):
        return {f"{change(name[:1])}{name[1:]}": _renamed(item, change) for name, item in value.items()}
    return [_renamed(item, change) for item in value] if isinstance(value, list) else value


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _read(text: str | None, otherwise: Any) -> Any:
    try:
        return msgspec.json.decode(text) if text else otherwise
    except msgspec.DecodeError:
        return otherwise


@cache
def _old_names() -> dict[str, dict[str, str]]:
    """The fields of a metric's source: for each kind of source, v2's paths and v1's names."""
    rows = read_table(__package__, "old_metrics.txt")
    return {kind: dict(field.split("=") for field in fields) for kind, *fields in rows}


def _old_metric(metric: Obj) -> Obj:
    out: Obj = {"type": metric.get("type", "")}
    for kind, names in _old_names().items():
        if (source := metric.get(kind)) is None:
            continue
        out[kind] = {}
        for way, name in names.items():
            first, _, second = way.partition(".")
            value = source.get(first)
            if second:
                value = (value or {}).get(second)
            if value is not None:
                out[kind][name] = value
    return out


def _new_metric(metric: Obj) -> Obj:
    out: Obj = {"type": metric.get("type", "")}
    for kind, names in _old_names().items():
        if (source := metric.get(kind)) is None:
            continue
        out[kind] = {}
        for way, name in names.items():
            if (value := source.get(name)) is None:
                continue
            first, _, second = way.partition(".")
            if second:
                out[kind].setdefault(first, {})[second] = value
            else:
                out[kind][first] = value
        target = out[kind].setdefault("target", {})
        of = "Utilization" if "averageUtilization" in target else "AverageValue"
        target["type"] = "Value" if "value" in target and "averageValue" not in target else of
    return out
