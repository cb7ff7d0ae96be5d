"""The dashboards that people have: what their queries ask for is there once a manager has worked.

The tables list each metric with the labels that a query filters by, groups by or shows. Left out are those that
Prometheus itself gives every sample of a target: ``job``, ``instance``, ``namespace``, ``pod`` and ``cluster``, and the
metric ``up``.
"""

from __future__ import annotations

import aiohttp
import anyio
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.manager import Controller, ControllerContext, LeaderElection, Manager
from kinformer.models import V1ConfigMap, V1ObjectMeta

#: kubebuilder's plugin grafana.kubebuilder.io/v1-alpha: controller-runtime-metrics and controller-resources-metrics.
KUBEBUILDER = {
    "controller_runtime_active_workers": {"controller"},
    "controller_runtime_reconcile_total": set(),
    "controller_runtime_reconcile_errors_total": set(),
    "workqueue_depth": {"name"},
    "workqueue_queue_duration_seconds_bucket": {"name", "le"},
    "workqueue_adds_total": {"name"},
    "workqueue_unfinished_work_seconds": {"name"},
    "workqueue_work_duration_seconds_bucket": {"name", "le"},
    "workqueue_retries_total": {"name"},
    "process_cpu_seconds_total": set(),
    "process_resident_memory_bytes": set(),
}

#: kubernetes-mixin's dashboard controller-manager.
KUBERNETES_MIXIN = {
    "workqueue_adds_total": {"name"},
    "workqueue_depth": {"name"},
    "workqueue_queue_duration_seconds_bucket": {"name", "le"},
    "rest_client_requests_total": {"code"},
    "rest_client_request_duration_seconds_bucket": {"verb", "le"},
    "process_resident_memory_bytes": set(),
    "process_cpu_seconds_total": set(),
    "go_goroutines": set(),
}

#: What controller-runtime has besides, and those who write their own dashboards and alerts use.
CONTROLLER_RUNTIME = {
    "controller_runtime_reconcile_total": {"controller", "result"},
    "controller_runtime_reconcile_errors_total": {"controller"},
    "controller_runtime_reconcile_time_seconds_bucket": {"controller", "le"},
    "controller_runtime_max_concurrent_reconciles": {"controller"},
    "rest_client_requests_total": {"code", "method", "host"},
    "workqueue_longest_running_processor_seconds": {"name"},
    "leader_election_master_status": {"name"},
    "process_start_time_seconds": set(),
    "process_open_fds": set(),
}

#: Kubernetes 1.36's metrics of informers.
INFORMERS = {
    "informer_queued_items": {"name", "group", "version", "resource"},
    "informer_processing_latency_seconds_bucket": {"name", "group", "version", "resource", "le"},
    "informer_store_resource_version": {"name", "group", "version", "resource"},
}


@pytest.fixture(scope="module")
async def samples() -> list[Sample]:
    """What a manager shows after one ConfigMap was synced."""
    synced = anyio.Event()

    def make(context: ControllerContext) -> Controller:
        configmaps = context.informers.informer_for(V1ConfigMap)

        async def sync(key: str) -> None:
            await context.client.resource(V1ConfigMap).get("a", "default")
            synced.set()

        return Controller("dashed", sync, clock=context.clock).watch(configmaps)

    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        manager = Manager(
            client, known={"dashed": make}, endpoint=("127.0.0.1", 0), leader_election=LeaderElection(name="dashed")
        )
        endpoint = manager.endpoint
        assert endpoint is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            with anyio.fail_after(60):
                await endpoint.listening.wait()
                meta = V1ObjectMeta(name="a", namespace="default")
                await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=meta))
                await synced.wait()
                url = f"http://127.0.0.1:{endpoint.port}/metrics"
                async with aiohttp.ClientSession() as session, session.get(url) as response:
                    text = await response.text()
            tasks.cancel_scope.cancel()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(KUBEBUILDER, id="kubebuilder"),
        pytest.param(KUBERNETES_MIXIN, id="kubernetes-mixin"),
        pytest.param(CONTROLLER_RUNTIME, id="controller-runtime"),
        pytest.param(INFORMERS, id="informers"),
    ],
)
async def test_a_manager_that_has_worked_shows_what_a_dashboard_asks_for(
    wanted: dict[str, set[str]], samples: list[Sample]
) -> None:
    shown: dict[str, set[str]] = {}
    for sample in samples:
        shown.setdefault(sample.name, set(sample.labels)).update(sample.labels)

    assert {name: labels & shown.get(name, set()) for name, labels in wanted.items()} == wanted
    assert set(wanted) <= set(shown)


async def test_the_values_are_those_of_what_the_manager_did(samples: list[Sample]) -> None:
    values = {(sample.name, *sorted(sample.labels.items())): sample.value for sample in samples}

    assert values["controller_runtime_max_concurrent_reconciles", ("controller", "dashed")] == 1
    assert values["workqueue_adds_total", ("name", "dashed")] >= 1
    assert values["leader_election_master_status", ("name", "dashed")] == 1
    assert values["go_goroutines",] > 3
    labels = ("group", ""), ("name", "configmaps"), ("resource", "configmaps"), ("version", "v1")
    assert values["informer_store_resource_version", *labels] > 0
    assert values["informer_processing_latency_seconds_count", *labels] >= 1


async def test_the_verbs_and_codes_of_requests_are_those_that_dashboards_select(samples: list[Sample]) -> None:
    verbs = {s.labels["verb"] for s in samples if s.name == "rest_client_request_duration_seconds_bucket"}
    codes = {s.labels["code"] for s in samples if s.name == "rest_client_requests_total"}

    assert {"GET", "POST"} <= verbs
    assert {"200", "201"} <= codes
