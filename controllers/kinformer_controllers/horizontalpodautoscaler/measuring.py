"""Reads metrics from the three metrics APIs: of resources, of anything in the cluster, and of anything outside it.

In: a namespace, the name of a metric, and selectors. Out: values in thousandths, or a :class:`.ReplicaError` in
Kubernetes' words. The servers behind these APIs are metrics-server and adapters, such as Prometheus'.

==============================  ==============================================================================
``metrics.k8s.io``              CPU and memory of containers: metrics of the types Resource and ContainerResource
``custom.metrics.k8s.io``       values of pods and of other objects: the types Pods and Object
``external.metrics.k8s.io``     values without an object: the type External
==============================  ==============================================================================
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import anyio
import msgspec

from kinformer.client import Client
from kinformer.client.errors import ClientError
from kinformer.client.status import About
from kinformer.clock import Clock
from kinformer.meta import GroupKind, GroupResource, GroupVersion, GroupVersionResource, Selector
from kinformer.meta.quantity import Quantity, QuantityError
from kinformer.models import V2CrossVersionObjectReference
from kinformer_controllers.horizontalpodautoscaler.replicas import MAX_INT64, PodMetric, ReplicaError
from kinformer_controllers.horizontalpodautoscaler.selectors import Labelled

__all__ = ("MetricsClient",)

_PODS: Final = GroupVersionResource("metrics.k8s.io", "v1beta1", "pods")
_CUSTOM: Final = "custom.metrics.k8s.io"
_CUSTOM_VERSIONS: Final = ("v1beta2", "v1beta1")
#: For how long the metrics of a namespace are kept for its other autoscalers.
_SHARED_SECONDS: Final = 1.0
_EXTERNAL: Final = "external.metrics.k8s.io"
#: The units of Go's durations, in seconds, and a part of such a duration.
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|h|m|s)")


class _Name(msgspec.Struct, rename="camel", frozen=True):
    name: str = ""


class _Container(msgspec.Struct, rename="camel", frozen=True):
    name: str = ""
    usage: dict[str, str | int | float] = {}


class _Meta(msgspec.Struct, rename="camel", frozen=True):
    name: str = ""
    labels: dict[str, str] | None = None


class _PodMetrics(msgspec.Struct, rename="camel", frozen=True):
    metadata: _Meta
    timestamp: datetime | None = None
    window: str = ""
    containers: list[_Container] | None = None


class _PodMetricsList(msgspec.Struct, rename="camel", frozen=True):
    items: list[_PodMetrics] | None = None


class _MetricValue(msgspec.Struct, rename="camel", frozen=True):
    described_object: _Name = _Name()
    value: str | int | float = 0
    timestamp: datetime | None = None
    window_seconds: int | None = None


class _MetricValueList(msgspec.Struct, rename="camel", frozen=True):
    items: list[_MetricValue] | None = None


class _Kept(NamedTuple):
    """
    The metrics of a whole namespace.

    :param at: when they were read, in the clock's monotonic seconds
    """

    at: float
    pods: Labelled[_PodMetrics]


class MetricsClient:
    """
    Reads metrics.

    Each call is a request, with one exception: the pods' resources of a namespace with many autoscalers are read for
    all of them together, and kept for a second. Metrics servers measure every 15 seconds.
    """

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._locks: dict[str, anyio.Lock] = {}

    async def of_resource(
        self, resource: str, namespace: str, selector: Selector, container: str = "", *, shared: bool = False
    ) -> dict[str, PodMetric]:
        """
        What pods use of a resource, by their names.

        :param container: the container that counts; empty for all of them together
        :param shared: whether other autoscalers of the namespace are about to ask as well
        :raises ReplicaError: if the metrics cannot be read, or there are none
        """
        try:
            if shared:
                pods = (await self._of_namespace(namespace)).pods.selected(selector)
            else:
                pods = await self._list_pods(namespace, selector)
        except ClientError as error:
            raise ReplicaError(f"unable to fetch metrics from resource metrics API: {error}") from error
        if not pods:
            raise ReplicaError("no metrics returned from resource metrics API")
        found = {}
        for pod in pods:
            containers = pod.containers or []
            if container:
                containers = [one for one in containers if one.name == container]
            if containers and all(resource in one.usage for one in containers):
                used = sum(_milli(one.usage[resource]) for one in containers)
                found[pod.metadata.name] = PodMetric(used, pod.timestamp, _seconds(pod.window))
        return found

    async def _of_namespace(self, namespace: str) -> _Kept:
        # Who waits for the lock finds what the one before has read. If that one was cancelled, the next one reads.
        async with self._locks.setdefault(namespace, anyio.Lock()):
            now = self._clock.monotonic()
            kept = self._kept.get(namespace)
            if kept is None or now - kept.at >= _SHARED_SECONDS:
                self._kept = {name: one for name, one in self._kept.items() if now - one.at < _SHARED_SECONDS}
                listed = Labelled(await self._list_pods(namespace, Selector()), lambda pod: pod.metadata.labels)
                kept = self._kept[namespace] = _Kept(now, listed)
            return kept

    async def _list_pods(self, namespace: str, selector: Selector) -> list[_PodMetrics]:
        path = f"/apis/{_PODS.group}/{_PODS.version}/namespaces/{namespace}/{_PODS.resource}"
        params = {} if selector.is_empty else {"labelSelector": str(selector)}
        about = About(_PODS.group_resource)
        listed = await self._client.request("GET", path, params=params, about=about, type_=_PodMetricsList)
        return listed.items or []

    async def of_pods(
        self, metric: str, namespace: str, selector: Selector, metric_selector: Selector
    ) -> dict[str, PodMetric]:
        """
        The values of a metric of pods, by their names.

        :raises ReplicaError: if the metric cannot be read, or there are no values
        """
        params = {"labelSelector": str(selector)}
        path = f"namespaces/{namespace}/pods/*/{quote(metric, safe='')}"
        listed = await self._custom(path, About(GroupResource(_CUSTOM, "pods"), "*"), metric_selector, params)
        if not listed:
            raise ReplicaError("no metrics returned from custom metrics API")
        return {
            one.described_object.name: PodMetric(
                _milli(one.value), one.timestamp, 60.0 if one.window_seconds is None else one.window_seconds
            )
            for one in listed
        }

    async def of_object(
        self, metric: str, namespace: str, about: V2CrossVersionObjectReference, metric_selector: Selector
    ) -> int:
        """
        The value of a metric of one object.

        :raises ReplicaError: if it cannot be read
        """
        group = GroupVersion.parse(about.api_version or "").group
        name = quote(metric, safe="")
        if (group, about.kind) == ("", "Namespace"):
            # The autoscaler's own namespace, whatever the reference says.
            where = f"namespaces/{namespace}/metrics/{name}"
            about_it = About(GroupResource(_CUSTOM, "metrics"), metric)
        else:
            kind = GroupKind(group, about.kind)
            await self._custom_version()  # where the API is missing, this is said before the kind is looked for
            try:
                served = await self._client.discovery.resource_for_kind(kind)
            except ClientError as error:
                raise ReplicaError(
                    f"unable to fetch metrics from custom metrics API: unable to map kind {kind} to resource: {error}"
                ) from error
            where = f"namespaces/{namespace}/{served.gvr.group_resource}/{quote(about.name, safe='')}/{name}"
            about_it = About(GroupResource(_CUSTOM, str(served.gvr.group_resource)), about.name)
        listed = await self._custom(where, about_it, metric_selector, {})
        if len(listed) != 1:
            raise ReplicaError(
                "unable to fetch metrics from custom metrics API: the custom metrics API server returned "
                f"{len(listed)} results when we asked for exactly one"
            )
        return _milli(listed[0].value)

    async def external(self, metric: str, namespace: str, metric_selector: Selector) -> int:
        """
        The sum of the values of a metric.

        :raises ReplicaError: if it cannot be read, or there are no values
        """
        text = str(metric_selector)
        params = {"labelSelector": text} if text else {}
        path = f"/apis/{_EXTERNAL}/v1beta1/namespaces/{namespace}/{quote(metric, safe='')}"
        try:
            about = About(GroupResource(_EXTERNAL, metric))
            listed = await self._client.request("GET", path, params=params, about=about, type_=_MetricValueList)
        except ClientError as error:
            raise ReplicaError(f"unable to fetch metrics from external metrics API: {error}") from error
        if not listed.items:
            raise ReplicaError("no metrics returned from external metrics API")
        return min(sum(_milli(one.value) for one in listed.items), MAX_INT64)

    async def _custom(
        self, where: str, about: About, metric_selector: Selector, params: dict[str, str]
    ) -> list[_MetricValue]:
        if text := str(metric_selector):
            params["metricLabelSelector"] = text
        path = f"/apis/{_CUSTOM}/{await self._custom_version()}/{where}"
        try:
            listed: Any = await self._client.request("GET", path, params=params, about=about, type_=_MetricValueList)
        except ClientError as error:
            raise ReplicaError(f"unable to fetch metrics from custom metrics API: {error}") from error
        return listed.items or []

    async def _custom_version(self) -> str:
        try:
            versions = (await self._client.discovery.groups()).get(_CUSTOM)
            if not versions:
                # It may have been added since. The client asks again at most once for each evaluation.
                self._client.discovery.invalidate()
                versions = (await self._client.discovery.groups()).get(_CUSTOM)
        except ClientError as error:
            raise ReplicaError(f"unable to fetch metrics from custom metrics API: {error}") from error
        if versions is None:
            raise ReplicaError(
                f"unable to fetch metrics from custom metrics API: no custom metrics API ({_CUSTOM}) registered"
            )
        known = [version for version in versions if version in _CUSTOM_VERSIONS]
        if not known:
            raise ReplicaError(
                "unable to fetch metrics from custom metrics API: no known available metric versions found"
            )
        return known[0]


def _milli(value: str | float) -> int:
    try:
        return Quantity.parse(value).milli_value()
    except QuantityError as error:
        raise ReplicaError(f"the metrics API returned a value that is not a quantity: {error}") from error


def _seconds(window: str) -> float:
    """Read a duration of Go, such as ``30s`` or ``1m0.5s``; 0 if there is none, as in Go."""
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(window))
