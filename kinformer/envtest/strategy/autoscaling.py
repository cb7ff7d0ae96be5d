"""Horizontal pod autoscalers, in the two versions of their API.

They are stored as autoscaling/v2. Version 1 has annotations in place of some fields: for the conditions, the behavior,
and all metrics except the utilization of CPU. The annotations have the JSON of v2. Kubernetes has a form of its own
there.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kinformer.envtest.causes import forbidden, invalid, not_supported, required
from kinformer.envtest.registry.schema import Problems, check_model
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, Strategy, with_field
from kinformer.meta.quantity import Quantity

__all__ = ("AutoscalerStrategy", "OldAutoscalerStrategy")

_CPU = 80
_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_SOURCE_TYPES = sorted(_SOURCES)
_LONGEST_WINDOW = 3600
_LONGEST_PERIOD = 1800


# -- validation -------------------------------------------------------------------------------------------------------


_ONE = f.Between(1, None, "must be greater than or equal to 1")


def _check_most(spec: Obj, path: str) -> Iterator[Cause]:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    yield from f.Needed(_ONE, detail="must be set and greater than 0")(most, f"{path}.maxReplicas")
    if least is not None and most < least:
        yield invalid(f"{path}.maxReplicas", most, "must be greater than or equal to `minReplicas`")


def _check_idle(spec: Obj, path: str) -> Iterator[Cause]:
    metrics = spec.get("metrics") or ()
    if spec.get("minReplicas") == 0 and not any(one.get("type") in ("Object", "External") for one in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden(f"{path}.metrics", text)


_VERSION = f.Form(lambda text: [f"unexpected GroupVersion string: {text}"] if text.count("/") > 1 else [])
_WITH_GROUP = f.Must(lambda version: "/" in version, "apiVersion must specify API group")
_REFERENCE = f.Fields(kind=f.Needed(f.PATH_SEGMENT), name=f.Needed(f.PATH_SEGMENT), apiVersion=f.Given(_VERSION))
_POLICIES = f.Each(
    f.Fields(
        type=f.OneOf("Percent", "Pods"),
        value=f.POSITIVE,
        periodSeconds=f.Every(
            f.POSITIVE, f.Between(None, _LONGEST_PERIOD, f"must be less than or equal to {_LONGEST_PERIOD}")
        ),
    )
)
_RULES = f.Given(
    f.Fields(
        stabilizationWindowSeconds=f.Every(
            f.Between(0, None, "must be greater than or equal to zero"),
            f.Between(None, _LONGEST_WINDOW, f"must be less than or equal to {_LONGEST_WINDOW}"),
        ),
        selectPolicy=f.Given(f.OneOf("Disabled", "Max", "Min")),
        policies=f.Needed(_POLICIES, detail="must specify at least one Policy"),
    )
)


# -- metrics -----------------------------------------------------------------------------------------------------------


def _check_metric(metric: Obj, path: str) -> Iterator[Cause]:
    kind = metric.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    present = [name for name in _SOURCES.values() if metric.get(name) is not None]
    expected = _SOURCES.get(kind)
    if expected is None:
        yield not_supported(f"{path}.type", kind, _SOURCE_TYPES)
    for name in present[:1]:
        yield from _SOURCE_ROWS[name](metric[name], f"{path}.{name}")
        yield from _check_targets(name, metric[name].get("target") or {}, f"{path}.{name}.target")
    if expected is None:
        yield not_supported(f"{path}.type", kind, _SOURCE_TYPES)
    elif expected not in present:
        yield required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(present) != 1:
        for name in present:
            if name != expected:
                yield forbidden(f"{path}.{name}", "must populate the given metric source only")


def _check_targets(source: str, target: Obj, path: str) -> Iterator[Cause]:
    """Check that a target has those numbers that its source needs."""
    value, average, utilization = (target.get(name) for name in ("value", "averageValue", "averageUtilization"))
    if source in ("object", "external"):
        if value is None and average is None:
            yield required(f"{path}.averageValue", "must set either a target value or averageValue")
        if source == "external" and value is not None and average is not None:
            yield forbidden(f"{path}.value", "may not set both a target value for metric and a per-pod target")
    elif source == "pods":
        if average is None:
            yield required(f"{path}.averageValue", "must specify a positive target averageValue")
    elif utilization is None and average is None:
        text = "must set either a target raw value or a target utilization"
        yield required(f"{path}.averageUtilization", text)
    elif utilization is not None and average is not None:
        text = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{path}.averageValue", text)


def _check_target_type(kind: str | None, path: str) -> Iterator[Cause]:
    if not kind:
        yield required(path, "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid(path, kind or "", "must be either Utilization, Value, or AverageValue")


_AMOUNT = f.Given(f.Must(lambda amount: Quantity.parse(amount).sign == 1, "must be positive"))
_TARGET = f.Fields(
    type=_check_target_type,
    value=_AMOUNT,
    averageValue=_AMOUNT,
    averageUtilization=f.ABOVE_0,
)
_METRIC = f.Fields(name=f.Needed(f.PATH_SEGMENT, detail="must specify a metric name"))
_RESOURCE = f.Needed(detail="must specify a resource name")
_SOURCE_ROWS = {
    "object": f.Fields(describedObject=_REFERENCE, metric=_METRIC, target=_TARGET),
    "external": f.Fields(metric=_METRIC, target=_TARGET),
    "pods": f.Fields(metric=_METRIC, target=_TARGET),
    "resource": f.Fields(name=_RESOURCE, target=_TARGET),
    "containerResource": f.Fields(
        name=_RESOURCE, container=f.Needed(detail="must specify a container"), target=_TARGET
    ),
}
_SPEC = f.Every(
    f.Fields(minReplicas=_ONE),
    _check_most,
    f.Fields(scaleTargetRef=f.Every(_REFERENCE, f.Fields(apiVersion=_WITH_GROUP)), metrics=f.Each(_check_metric)),
    _check_idle,
    f.Fields(behavior=f.Fields(scaleUp=_RULES, scaleDown=_RULES)),
)

# -- autoscaling/v2 ----------------------------------------------------------------------------------------------------


class AutoscalerStrategy(Strategy):
    """autoscaling/v2."""

    checks = f.Fields(spec=_SPEC)

    def default(self, obj: Obj) -> None:
        super().default(obj)
        if not obj["spec"].get("metrics"):
            obj["spec"]["metrics"] = [_cpu_metric(_CPU)]
        _drop_annotations(obj["metadata"])

    def prepare_for_create(self, obj: Obj) -> None:
        obj["status"] = {"currentMetrics": None, "desiredReplicas": 0}


def _cpu_metric(utilization: int) -> Obj:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


# -- autoscaling/v1 ---------------------------------------------------------------------------------------------------

#: The prefix of the annotations that v1 has in place of fields.
_PREFIX = "autoscaling.alpha.kubernetes.io/"
_HELD = ("metrics", "behavior", "conditions")


class OldAutoscalerStrategy(AutoscalerStrategy):
    """autoscaling/v1."""

    is_converted = True

    def check(self, data: Obj, problems: Problems) -> Obj:
        checked = super().check(data, problems)
        return checked if problems.error is not None else _from_old(checked)

    def shown(self, obj: Obj) -> Obj:
        return _to_old(obj)


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
    """The content of annotations. It is empty if they are not in the form that this server writes."""
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


def _to_old(new: Obj) -> Obj:
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
