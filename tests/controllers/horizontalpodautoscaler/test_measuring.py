"""Reading metrics from the three metrics APIs."""

from __future__ import annotations

import json
from functools import partial
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from kinformer.client import Client
from kinformer.client.codec import decode_as
from kinformer.client.errors import NoKindMatch, NotFound
from kinformer.client.status import Status
from kinformer.clock import FakeClock
from kinformer.meta import GroupResource, Selector, label_selector_as_selector, parse_selector
from kinformer.models import V2MetricSpec, from_dict
from kinformer_controllers.horizontalpodautoscaler.measuring import MetricsClient
from kinformer_controllers.horizontalpodautoscaler.proposals import MetricFailed, Target, measure, propose
from kinformer_controllers.horizontalpodautoscaler.replicas import ReplicaError
from tests.controllers.horizontalpodautoscaler.pods import TERMS, pods

APP = parse_selector("app=a")
ALL = Selector()
NONE = label_selector_as_selector(None)


class Server:
    """
    Answers of metrics servers.

    :ivar asked: the paths and parameters of the requests
    :ivar about: what their errors would name
    """

    def __init__(self, *items: dict[str, Any], versions: tuple[str, ...] = ("v1beta2",)) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.about: list[str] = []
        self.error: Exception | None = None
        self.clock = FakeClock()
        self._items = items
        self._versions = list(versions)
        self.discovery = SimpleNamespace(groups=self.groups, resource_for_kind=self.kind, invalidate=lambda: None)

    @property
    def metrics(self) -> MetricsClient:
        fake: Any = self
        client: Client = fake
        return MetricsClient(client, self.clock)

    async def request(self, method: str, path: str, *, params: dict[str, str], about: Any, type_: type[Any]) -> Any:
        self.asked.append((path, params))
        self.about.append(str(GroupResource(*about.resource)) + f" {about.name}".rstrip())
        if self.error is not None:
            raise self.error
        return decode_as(type_, json.dumps({"items": self._items}).encode(), path)

    async def groups(self) -> dict[str, list[str]]:
        return {"custom.metrics.k8s.io": self._versions} if self._versions else {}

    async def kind(self, kind: Any) -> Any:
        return SimpleNamespace(gvr=SimpleNamespace(group_resource=f"{kind.kind.lower()}s.{kind.group}"))


def of(spec: dict[str, Any]) -> V2MetricSpec:
    return from_dict(V2MetricSpec, spec)


def used(name: str, **containers: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "timestamp": "2026-01-01T11:59:50Z",
        "window": "1m30s",
        "containers": [{"name": container, "usage": {"cpu": cpu}} for container, cpu in containers.items()],
    }


async def test_the_usage_of_a_pod_is_the_sum_of_its_containers() -> None:
    server = Server(used("p0", c="100m", d="1"), used("p1", c="5n"), {"metadata": {"name": "p2"}})

    found = await server.metrics.of_resource("cpu", "ns", APP)

    assert server.asked == [("/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods", {"labelSelector": "app=a"})]
    assert {name: (metric.value, metric.window) for name, metric in found.items()} == {"p0": (1100, 90), "p1": (1, 90)}
    assert await server.metrics.of_resource("memory", "ns", APP) == {}
    assert [*(await server.metrics.of_resource("cpu", "ns", APP, "d"))] == ["p0"]


@pytest.mark.parametrize(("window", "seconds"), [("1m0.5s", 60.5), ("500ms", 0.5), ("1h1m", 3660.0), ("", 0.0)])
async def test_a_window_is_read_as_a_duration_of_go(window: str, seconds: float) -> None:
    found = await Server({**used("p", c="1"), "window": window}).metrics.of_resource("cpu", "ns", APP)

    assert found["p"].window == pytest.approx(seconds)


async def test_the_metrics_of_a_namespace_are_read_once_for_many_autoscalers() -> None:
    labelled = [{**used(f"p{n}", c="1"), "metadata": {"name": f"p{n}", "labels": {"app": "ab"[n]}}} for n in range(2)]
    server = Server(*labelled)
    client = server.metrics

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(partial(client.of_resource, "cpu", "ns", APP, shared=True))
    assert [*await client.of_resource("cpu", "ns", parse_selector("app=b"), shared=True)] == ["p1"]
    assert server.asked == [("/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods", {})]

    server.clock.turn(1.0)
    await client.of_resource("cpu", "ns", APP, shared=True)
    assert len(server.asked) == 2


async def test_custom_metrics_are_read_in_the_version_that_is_served() -> None:
    server = Server({"describedObject": {"name": "p0"}, "value": "2500m"}, versions=("v1", "v1beta1"))

    found = await server.metrics.of_pods("packets/s", "ns", APP, parse_selector("zone=a"))

    path = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/ns/pods/*/packets%2Fs"
    assert server.asked == [(path, {"labelSelector": "app=a", "metricLabelSelector": "zone=a"})]
    assert found["p0"].value == 2500


async def test_an_objects_metric_is_read_by_the_objects_resource() -> None:
    server = Server({"value": "7"})
    spec = {"metric": {"name": "hits"}, "target": {"type": "Value", "value": "1"}}
    route = {"kind": "Ingress", "apiVersion": "networking.k8s.io/v1", "name": "r"}
    namespace = {"kind": "Namespace", "apiVersion": "v1", "name": "elsewhere"}
    target = Target("ns", pods(2), APP, 2, 2)

    for about in (route, namespace):
        assert (
            await measure(server.metrics, of({"type": "Object", "object": {**spec, "describedObject": about}}), target)
            == 7000
        )

    assert [path.partition("/namespaces/")[2] for path, _ in server.asked] == [
        "ns/ingresss.networking.k8s.io/r/hits",
        "ns/metrics/hits",
    ]
    assert server.about == [
        "ingresss.networking.k8s.io.custom.metrics.k8s.io r",
        "metrics.custom.metrics.k8s.io hits",
    ]


async def test_external_values_are_added_up() -> None:
    server = Server({"value": "3"}, {"value": "500m"})

    assert await server.metrics.external("queue", "ns", ALL) == 3500
    assert await Server(*[{"value": str(2**53)}] * 2000).metrics.external("queue", "ns", NONE) == 2**63 - 1
    assert server.asked == [("/apis/external.metrics.k8s.io/v1beta1/namespaces/ns/queue", {})]
    assert server.about == ["queue.external.metrics.k8s.io"]


async def test_what_cannot_be_read_is_said_in_kubernetes_words() -> None:
    async def error(server: Server, method: str, *args: Any) -> str:
        with pytest.raises(ReplicaError) as raised:
            await getattr(server.metrics, method)(*args)
        return str(raised.value)

    empty, refusing = Server(), Server(versions=())
    refusing.error = NotFound(Status(code=404, message="the server could not find the requested resource"))
    assert await error(empty, "of_resource", "cpu", "ns", APP) == "no metrics returned from resource metrics API"
    assert await error(empty, "of_pods", "m", "ns", APP, NONE) == "no metrics returned from custom metrics API"
    assert await error(empty, "external", "m", "ns", NONE) == "no metrics returned from external metrics API"
    assert await error(refusing, "of_resource", "cpu", "ns", APP) == (
        "unable to fetch metrics from resource metrics API: the server could not find the requested resource"
    )
    assert await error(refusing, "of_pods", "m", "ns", APP, NONE) == (
        "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
    )
    assert "not a quantity" in await error(Server({"value": "many"}), "external", "m", "ns", NONE)


CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
SELECTOR = "MatchLabels:map[string]string{a: 2,b: 1,},MatchExpressions:[]LabelSelectorRequirement{},"
QUEUE = {"name": "queue", "selector": {"matchLabels": {"b": "1", "a": "2"}}}


@pytest.mark.parametrize(
    ("spec", "name", "current"),
    [
        ({"type": "Resource", "resource": CPU}, "cpu resource utilization (percentage of request)", None),
        (
            {"type": "External", "external": {"metric": QUEUE, "target": {"type": "Value", "value": "10"}}},
            f"external metric queue(&LabelSelector{{{SELECTOR}}})",
            {"value": "40"},
        ),
        (
            {
                "type": "External",
                "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "10"}},
            },
            "external metric q(nil)",
            {"averageValue": "20"},
        ),
    ],
    ids=["resource", "value", "average"],
)
async def test_a_proposal_has_the_metrics_name_and_its_status(
    spec: dict[str, Any], name: str, current: dict[str, Any] | None
) -> None:
    server = Server(used("p0", c="1"), used("p1", c="1")) if current is None else Server({"value": "40"})
    target = Target("ns", pods(2), APP, 2, 2)

    measured = await measure(server.metrics, of(spec), target)
    found = propose(of(spec), measured, target, TERMS)

    assert (found.name, found.replicas) == (name, 8 if name.endswith("})") else 4)
    if current is not None:
        assert found.status.external is not None
        shown = found.status.external.current
        assert {"value": shown.value} if shown.value else {"averageValue": shown.average_value} == current


@pytest.mark.parametrize(("resource", "usage"), [("memory", "1536Ki"), ("cpu", "1500m"), ("example.com/x", "200m")])
async def test_memory_is_shown_in_powers_of_1024(resource: str, usage: str) -> None:
    server = Server({"metadata": {"name": "p0"}, "containers": [{"name": "c", "usage": {resource: usage}}]})
    target = Target("ns", pods(1), APP, 1, 1)
    source = {"name": resource, "target": {"type": "AverageValue", "averageValue": usage}}
    spec = of({"type": "Resource", "resource": source})
    timing = TERMS.timing._replace(cpu_initialization=0.0)

    found = propose(spec, await measure(server.metrics, spec, target), target, TERMS._replace(timing=timing))

    assert found.status.resource is not None
    assert found.status.resource.current.average_value == usage


async def test_a_failure_has_the_texts_of_event_and_error() -> None:
    target, server = Target("ns", pods(2), APP, 2, 2), Server()

    async def failure(spec: dict[str, Any]) -> tuple[str, str, str]:
        with pytest.raises(MetricFailed) as raised:
            propose(of(spec), await measure(server.metrics, of(spec), target), target, TERMS)
        return raised.value.reason, raised.value.cause, raised.value.text

    none = "no metrics returned from resource metrics API"
    cause = f"failed to get cpu utilization: unable to get metrics for resource cpu: {none}"
    assert await failure({"type": "Resource", "resource": CPU}) == (
        "FailedGetResourceMetric",
        cause,
        f"failed to get cpu resource metric value: {cause}",
    )
    average = {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "10"}}
    cause = "unable to get external metric ns/q/nil: no metrics returned from external metrics API"
    assert await failure({"type": "External", "external": average}) == (
        "FailedGetExternalMetric",
        cause,
        f"failed to get q external metric value: failed to get q external metric: {cause}",
    )
    assert await failure({"type": "Sun"}) == (
        "InvalidMetricSourceType",
        'unknown metric source type "Sun"',
        'unknown metric source type "Sun"',
    )


async def test_a_missing_api_is_named_before_the_kind_of_an_object() -> None:
    spec = {"metric": {"name": "hits"}, "target": {"type": "Value", "value": "1"}}
    about = {"kind": "Nothing", "apiVersion": "v1", "name": "s"}
    server = Server(versions=())

    async def unknown(kind: Any) -> Any:
        raise NoKindMatch(f'no matches for kind "{kind.kind}" in group "{kind.group}"')

    server.discovery.resource_for_kind = unknown
    metric = of({"type": "Object", "object": {**spec, "describedObject": about}})
    with pytest.raises(MetricFailed, match=r"no custom metrics API \(custom\.metrics\.k8s\.io\) registered$"):
        await measure(server.metrics, metric, Target("ns", pods(2), APP, 2, 2))

    server._versions = ["v1beta1"]
    with pytest.raises(MetricFailed, match=r'unable to map kind Nothing to resource: no matches for kind "Nothing" in'):
        await measure(server.metrics, metric, Target("ns", pods(2), APP, 2, 2))
