"""One metric of an autoscaler: what it asks for, and its entry in the status.

In: the metric's spec, the target, and what was measured. Out: a :class:`MetricProposal`, or a :class:`MetricFailed`
with the texts of the Event and of the condition. :func:`measure` asks the metrics APIs; :func:`propose` asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kinformer.meta import Selector, SelectorError, label_selector_as_selector
from kinformer.meta.quantity import Format, Quantity
from kinformer.models import (
    V1LabelSelector,
    V1Pod,
    V2ContainerResourceMetricStatus,
    V2ExternalMetricStatus,
    V2MetricIdentifier,
    V2MetricSpec,
    V2MetricStatus,
    V2MetricTarget,
    V2MetricValueStatus,
    V2ObjectMetricStatus,
    V2PodsMetricStatus,
    V2ResourceMetricStatus,
)
from kinformer_controllers.horizontalpodautoscaler.measuring import MetricsClient
from kinformer_controllers.horizontalpodautoscaler.replicas import (
    PodMetric,
    Proposal,
    ReplicaError,
    Terms,
    replicas_by_average,
    replicas_by_ratio,
    replicas_by_total,
    replicas_by_utilization,
)
from kinformer_controllers.shared.selector_text import selector_text

__all__ = ("Measured", "MetricFailed", "MetricProposal", "Target", "measure", "propose")

#: By the names of pods, or one number in thousandths for all of them.
Measured = dict[str, PodMetric] | int


class MetricFailed(Exception):
    """
    A metric asks for nothing, because it cannot be read or computed. The texts are Kubernetes'.

    :param reason: of the Event and of the condition ScalingActive
    :param cause: the message of the Event
    :ivar text: the error of the evaluation
    """

    def __init__(self, reason: str, cause: str, text: str, *, is_spec: bool = False) -> None:
        super().__init__(text)
        self.reason = reason
        self.cause = cause
        self.text = text
        self.is_spec = is_spec


class Target(NamedTuple):
    """
    What is scaled.

    :param pods: the pods that its selector matches
    :param shares: whether its namespace has many autoscalers, so that metrics are read for all of them together
    :param replicas: in its spec
    :param observed: in its status
    """

    namespace: str
    pods: Sequence[V1Pod]
    selector: Selector
    replicas: int
    observed: int
    shares: bool = False


class MetricProposal(NamedTuple):
    """
    What a metric asks for.

    :param name: what it is called in messages
    """

    replicas: int
    name: str
    status: V2MetricStatus


async def measure(client: MetricsClient, spec: V2MetricSpec, target: Target) -> Measured:
    """
    Read a metric.

    :raises MetricFailed: if it cannot be read
    """
    if spec.type in ("Resource", "ContainerResource"):
        source: Any = spec.resource if spec.type == "Resource" else spec.container_resource
        container = source.container if spec.type == "ContainerResource" else ""
        try:
            return await client.of_resource(
                source.name, target.namespace, target.selector, container, shared=target.shares
            )
        except ReplicaError as error:
            raise _failed(spec, f"unable to get metrics for resource {source.name}: {error}") from error
    if spec.type == "Pods" and spec.pods is not None:
        metric = spec.pods.metric
        selector = _selector(spec, metric.selector)
        try:
            return await client.of_pods(metric.name, target.namespace, target.selector, selector)
        except ReplicaError as error:
            raise _failed(spec, f"unable to get metric {metric.name}: {error}") from error
    if spec.type == "Object" and spec.object is not None:
        metric, about = spec.object.metric, spec.object.described_object
        selector = _selector(spec, metric.selector)
        try:
            return await client.of_object(metric.name, target.namespace, about, selector)
        except (ReplicaError, ValueError) as error:
            text = f"unable to get metric {metric.name}: {about.kind} on {target.namespace} {about.name}/{error}"
            raise _failed(spec, text) from error
    if spec.type == "External" and spec.external is not None:
        metric = spec.external.metric
        selector = _selector(spec, metric.selector)
        try:
            return await client.external(metric.name, target.namespace, selector)
        except ReplicaError as error:
            name = f"{target.namespace}/{metric.name}/{selector_text(metric.selector)}"
            raise _failed(spec, f"unable to get external metric {name}: {error}") from error
    cause = f'unknown metric source type "{spec.type}"'
    raise MetricFailed("InvalidMetricSourceType", cause, cause, is_spec=True)


def propose(spec: V2MetricSpec, measured: Measured, target: Target, terms: Terms) -> MetricProposal:
    """
    Compute what a metric asks for.

    :raises MetricFailed: if this cannot be computed
    """
    try:
        return _PROPOSE[spec.type](spec, measured, target, terms)
    except ReplicaError as error:
        raise _failed(spec, str(error)) from error


def _of_resource(spec: V2MetricSpec, measured: Any, target: Target, terms: Terms) -> MetricProposal:
    source: Any = spec.resource if spec.type == "Resource" else spec.container_resource
    wanted: V2MetricTarget = source.target
    if wanted.average_value is not None:
        average = _milli(wanted.average_value)
        found = replicas_by_average(target.pods, measured, target.replicas, average, resource=source.name, terms=terms)
        name = f"{source.name} resource"
    elif wanted.average_utilization is not None:
        found = replicas_by_utilization(
            target.pods,
            measured,
            target.replicas,
            wanted.average_utilization,
            resource=source.name,
            container=source.container if spec.type == "ContainerResource" else "",
            terms=terms,
        )
        container = "container " if spec.type == "ContainerResource" else ""
        name = f"{source.name} {container}resource utilization (percentage of request)"
    else:
        raise ReplicaError(
            "invalid resource metric source: neither an average utilization target nor an average value (usage) "
            "target was set"
        )
    notation = Format.BINARY_SI if source.name == "memory" else Format.DECIMAL_SI
    current = V2MetricValueStatus(
        average_utilization=found.utilization, average_value=str(Quantity.of_milli(found.average, notation))
    )
    status = V2MetricStatus(type=spec.type)
    if spec.type == "Resource":
        status.resource = V2ResourceMetricStatus(name=source.name, current=current)
    else:
        status.container_resource = V2ContainerResourceMetricStatus(
            name=source.name, container=source.container, current=current
        )
    return MetricProposal(found.replicas, name, status)


def _of_pods(spec: V2MetricSpec, measured: Any, target: Target, terms: Terms) -> MetricProposal:
    assert spec.pods is not None
    metric, wanted = spec.pods.metric, spec.pods.target
    if wanted.average_value is None:
        raise ReplicaError("invalid pods metric source: no average value target was set")
    found = replicas_by_average(target.pods, measured, target.replicas, _milli(wanted.average_value), terms=terms)
    status = V2PodsMetricStatus(metric=_identifier(metric), current=_average(found))
    return MetricProposal(found.replicas, f"pods metric {metric.name}", V2MetricStatus(type="Pods", pods=status))


def _of_object(spec: V2MetricSpec, measured: Any, target: Target, terms: Terms) -> MetricProposal:
    assert spec.object is not None
    about, metric, wanted = spec.object.described_object, spec.object.metric, spec.object.target
    if wanted.type == "Value" and wanted.value is not None:
        found = replicas_by_ratio(target.pods, target.replicas, measured, _milli(wanted.value), terms=terms)
        name, current = f"{about.kind} metric {metric.name}", _whole(found)
    elif wanted.type == "AverageValue" and wanted.average_value is not None:
        found = replicas_by_total(target.observed, measured, _milli(wanted.average_value), terms=terms)
        name, current = f"external metric {metric.name}({selector_text(metric.selector)})", _average(found)
    else:
        raise ReplicaError("invalid object metric source: neither a value target nor an average value target was set")
    status = V2ObjectMetricStatus(described_object=about, metric=_identifier(metric), current=current)
    return MetricProposal(found.replicas, name, V2MetricStatus(type="Object", object=status))


def _of_external(spec: V2MetricSpec, measured: Any, target: Target, terms: Terms) -> MetricProposal:
    assert spec.external is not None
    metric, wanted = spec.external.metric, spec.external.target
    if wanted.average_value is not None:
        found = replicas_by_total(target.observed, measured, _milli(wanted.average_value), terms=terms)
        current = _average(found)
    elif wanted.value is not None:
        found = replicas_by_ratio(target.pods, target.replicas, measured, _milli(wanted.value), terms=terms)
        current = _whole(found)
    else:
        raise ReplicaError("invalid external metric source: neither a value target nor an average value target was set")
    name = f"external metric {metric.name}({selector_text(metric.selector)})"
    status = V2ExternalMetricStatus(metric=_identifier(metric), current=current)
    return MetricProposal(found.replicas, name, V2MetricStatus(type="External", external=status))


_PROPOSE: dict[str, Callable[..., MetricProposal]] = {
    "ContainerResource": _of_resource,
    "External": _of_external,
    "Object": _of_object,
    "Pods": _of_pods,
    "Resource": _of_resource,
}


def _failed(spec: V2MetricSpec, cause: str) -> MetricFailed:
    """The texts of a failure: Kubernetes wraps each kind of metric in its own way."""
    if spec.type in ("Resource", "ContainerResource"):
        source: Any = spec.resource if spec.type == "Resource" else spec.container_resource
        if not cause.startswith("invalid resource metric source"):
            what = "usage" if source.target.average_value is not None else "utilization"
            cause = f"failed to get {source.name} {what}: {cause}"
        if spec.type == "Resource":
            text = f"failed to get {source.name} resource metric value: {cause}"
        else:
            text = f"failed to get {source.container} container metric value: {cause}"
        return MetricFailed(f"FailedGet{spec.type}Metric", cause, text)
    if spec.type == "Pods":
        return MetricFailed("FailedGetPodsMetric", cause, f"failed to get pods metric value: {cause}")
    is_invalid = cause.startswith("invalid ")
    if spec.type == "Object" and spec.object is not None:
        of_average = spec.object.target.type == "AverageValue" and not is_invalid
        inner = f"failed to get {spec.object.metric.name} object metric: {cause}" if of_average else cause
        return MetricFailed("FailedGetObjectMetric", cause, f"failed to get object metric value: {inner}")
    assert spec.external is not None
    name = spec.external.metric.name
    if is_invalid:
        inner = cause
    elif spec.external.target.average_value is not None:
        inner = f"failed to get {name} external metric: {cause}"
    else:
        inner = f"failed to get external metric {name}: {cause}"
    return MetricFailed("FailedGetExternalMetric", cause, f"failed to get {name} external metric value: {inner}")


def _selector(spec: V2MetricSpec, selector: V1LabelSelector | None) -> Selector:
    try:
        return label_selector_as_selector(selector)
    except SelectorError as error:
        raise _failed(spec, str(error)) from error


def _identifier(metric: V2MetricIdentifier) -> V2MetricIdentifier:
    return V2MetricIdentifier(name=metric.name, selector=metric.selector)


def _average(found: Proposal) -> V2MetricValueStatus:
    return V2MetricValueStatus(average_value=str(Quantity.of_milli(found.average)))


def _whole(found: Proposal) -> V2MetricValueStatus:
    return V2MetricValueStatus(value=str(Quantity.of_milli(found.average)))


def _milli(value: str) -> int:
    return Quantity.parse(value).milli_value()
