"""What each kind gets by default, and in which forms it is seen."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.envtest.operations import timestamp
from kinformer.envtest.registry import Registry
from kinformer.envtest.registry.resources import optional_apis
from kinformer.envtest.storage import Storage
from kinformer.envtest.strategies import Strategies
from kinformer.envtest.strategy import Strategy
from kinformer.envtest.strategy.declared import kinds
from tests.envtest.conftest import Http
from tests.envtest.objects import (
    AUTOSCALERS,
    CONTAINERS,
    LIMIT,
    NETWORKING,
    RBAC,
    ROLE_GROUP,
    STORAGE,
    TOLD_LIMIT,
    named,
    refused,
    template,
    workload,
)


def test_each_declared_kind_and_setting_exists() -> None:
    served = Registry(optional_apis())
    strategies = {name: declared for name, declared in kinds().items() if name != "parts"}
    assert set(strategies) <= {str(resource.group_resource) for resource in served}
    elsewhere = {"defaults", "spec", "strategy"}
    assert {name for declared in strategies.values() for name in declared} <= {*vars(Strategy), *elsewhere}


def test_each_strategy_and_check_that_is_declared_exists() -> None:
    registry, clock = Registry(optional_apis()), FakeClock()
    strategies = Strategies(Storage(), registry, clock)
    for resource in registry:
        assert isinstance(strategies(resource), Strategy)


# -- defaults ----------------------------------------------------------------------------------------------------------


async def test_only_a_pod_requests_what_it_is_limited_to(http: Http) -> None:
    limited = [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]
    pod = await http.create("/api/v1/namespaces/default/pods", named("p", spec={"containers": limited}))
    body = workload("d", template(containers=limited))
    deployment = await http.create("/apis/apps/v1/namespaces/default/deployments", body)
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert deployment["spec"]["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}


async def test_only_an_image_with_the_latest_tag_is_always_pulled(http: Http) -> None:
    always = ["i", "i:latest", "localhost:5000/i", "Registry.io/a/b"]
    sometimes = ["i:1", "i@sha256:" + "0" * 64, "localhost:5000/i:1", "None", "50%", "a/-b"]
    specs = [{"name": f"c{index}", "image": image} for index, image in enumerate(always + sometimes)]
    pod = await http.create("/api/v1/namespaces/default/pods", named("p", spec={"containers": specs}))
    policies = [container["imagePullPolicy"] for container in pod["spec"]["containers"]]
    assert policies == ["Always"] * len(always) + ["IfNotPresent"] * len(sometimes)


async def test_null_in_a_map_or_a_list_is_an_empty_value(http: Http) -> None:
    container = {"name": "c", "image": "i", "command": ["a", None], "resources": {"limits": {"cpu": None}}}
    pod = await http.create("/api/v1/namespaces/default/pods", named("p", spec={"containers": [container]}))
    made = pod["spec"]["containers"][0]
    assert (made["command"], made["resources"]["limits"]) == (["a", ""], {"cpu": "0"})


async def test_ports_of_the_host_are_filled_in_when_the_pod_is_made(http: Http) -> None:
    ports = [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]
    body = workload("d", template(containers=ports, hostNetwork=True))
    deployment = await http.create("/apis/apps/v1/namespaces/default/deployments", body)
    body = named("p", spec={"containers": ports, "hostNetwork": True})
    pod = await http.create("/api/v1/namespaces/default/pods", body)
    assert "hostPort" not in deployment["spec"]["template"]["spec"]["containers"][0]["ports"][0]
    assert pod["spec"]["containers"][0]["ports"][0]["hostPort"] == 80


async def test_a_pod_with_pod_level_limits_requests_what_its_containers_do(http: Http) -> None:
    asked = [{"name": n, "image": "i", "resources": {"requests": {"cpu": "100m"}}} for n in "ab"]
    body = named("p", spec={"containers": asked, "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}})
    pod = await http.create("/api/v1/namespaces/default/pods", body)
    assert pod["spec"]["resources"]["requests"] == {"cpu": "200m", "memory": "1Gi"}


async def test_amounts_below_a_thousandth_are_rounded_up(http: Http) -> None:
    tiny = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "0.1m"}}}]
    pod = await http.create("/api/v1/namespaces/default/pods", named("p", spec={"containers": tiny}))
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1m"}


async def test_a_stateful_set_that_names_its_strategy_gets_no_defaults(http: Http) -> None:
    sets = "/apis/apps/v1/namespaces/default/statefulsets"
    said = await http.create(sets, workload("a", template(), updateStrategy={"type": "RollingUpdate"}))
    unsaid = await http.create(sets, workload("b", template()))
    assert said["spec"]["updateStrategy"] == {"type": "RollingUpdate"}
    assert unsaid["spec"]["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}


async def test_a_service_that_is_reached_from_outside_says_how_its_traffic_goes(http: Http) -> None:
    spec = {"externalIPs": ["192.0.2.1"], "ports": [{"port": 80}]}
    service = await http.create("/api/v1/namespaces/default/services", named("s", spec=spec))
    assert service["spec"]["externalTrafficPolicy"] == "Cluster"


async def test_an_address_of_a_load_balancer_is_virtual_unless_it_says_otherwise(http: Http) -> None:
    services = "/api/v1/namespaces/default/services"
    await http.create(services, named("s", spec={"type": "LoadBalancer", "ports": [{"port": 80}]}))
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
    service = await http.merge(f"{services}/s/status", status)
    assert service["status"]["loadBalancer"] == {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}


async def test_a_node_has_what_it_says_once_in_both_its_forms(http: Http) -> None:
    body = named("n", spec={"podCIDR": "10.0.0.0/24"}, status={"capacity": {"cpu": "4"}})
    node = await http.create("/api/v1/nodes", body)
    assert node["spec"]["podCIDRs"] == ["10.0.0.0/24"]
    assert node["status"]["allocatable"] == {"cpu": "4"}


@pytest.mark.parametrize(
    ("path", "body", "field", "value"),
    [
        (
            f"{RBAC}/clusterrolebindings",
            {"roleRef": {"kind": "ClusterRole", "name": "r"}},
            "roleRef.apiGroup",
            ROLE_GROUP,
        ),
        (
            f"{NETWORKING}/ingressclasses",
            {"spec": {"controller": "a.com/c", "parameters": {"kind": "K", "name": "n"}}},
            "spec.parameters.scope",
            "Cluster",
        ),
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
            {"spec": {"priorityLevelConfiguration": {"name": "x"}}},
            "spec.matchingPrecedence",
            1000,
        ),
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
            {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 1}}}}},
            "spec.limited",
            {
                "lendablePercent": 0,
                "limitResponse": {"queuing": {"handSize": 8, "queueLengthLimit": 50, "queues": 1}, "type": "Queue"},
                "nominalConcurrencyShares": 30,
            },
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
            {"spec": {"matchConstraints": {"resourceRules": [{"operations": ["*"]}]}}},
            "spec.matchConstraints",
            {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {},
                "resourceRules": [{"operations": ["*"], "scope": "*"}],
            },
        ),
        (f"{RBAC}/clusterroles", {"rules": []}, "rules", None),
        (
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            {"addressType": "IPv4", "endpoints": [], "ports": []},
            "endpoints",
            None,
        ),
        (
            "/api/v1/namespaces/default/pods",
            {"spec": {"containers": [{**CONTAINERS[0], "env": [{"name": "A", "valueFrom": LIMIT}]}]}},
            "spec.containers.0.env.0.valueFrom.resourceFieldRef",
            {"divisor": "0", "resource": "limits.cpu"},
        ),
        (
            "/api/v1/namespaces/default/pods",
            {"spec": {"containers": CONTAINERS, "volumes": [{"name": "v", "downwardAPI": {"items": [TOLD_LIMIT]}}]}},
            "spec.volumes.0.downwardAPI.items.0.resourceFieldRef",
            {"containerName": "c", "divisor": "0", "resource": "limits.cpu"},
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            {"spec": {"holderIdentity": "a", "strategy": "OldestEmulationVersion"}},
            "spec",
            {"holderIdentity": "a"},
        ),
        (
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}},
            "spec.devices.requests",
            [{"name": "r", "exactly": {"allocationMode": "ExactCount", "count": 1, "deviceClassName": "c"}}],
        ),
    ],
)
async def test_what_is_left_out_is_filled_in(http: Http, path: str, body: Any, field: str, value: Any) -> None:
    value_of: Any = await http.create(path, named("x", **body))
    for part in field.split("."):
        value_of = value_of[int(part) if part.isdecimal() else part]
    assert value_of == value


async def test_a_taint_of_a_device_says_since_when_it_is_there(http: Http, clock: FakeClock) -> None:
    began, slices = timestamp(clock.now()), "/apis/resource.k8s.io/v1/resourceslices"
    taints = [{"key": "a", "effect": "NoExecute"}, {"key": "b", "effect": "None", "timeAdded": "2020-01-01T00:00:00Z"}]
    spec = {"driver": "d.x.io", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
    await http.create(slices, named("s", spec={**spec, "devices": [{"name": "d", "taints": taints}]}))
    clock.turn(60)
    more = [*taints, {"key": "c", "effect": "NoSchedule"}]
    patched = await http.merge(f"{slices}/s", {"spec": {"devices": [{"name": "d", "taints": more}]}})
    now = timestamp(clock.now())
    assert [taint["timeAdded"] for taint in patched["spec"]["devices"][0]["taints"]] == [
        now,
        taints[1]["timeAdded"],
        now,
    ]
    kept = await http.merge(f"{slices}/s", {"metadata": {"labels": {"a": "b"}}})
    assert kept["spec"] == patched["spec"]
    assert began != now
    listed = await http.get(f"{slices}?fieldSelector=spec.nodeName=n,spec.driver=d.x.io")
    assert [one["metadata"]["name"] for one in listed["items"]] == ["s"]


async def test_an_allocated_claim_is_reserved_and_its_allocation_kept(http: Http) -> None:
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    await http.create(claims, named("c", spec=spec))
    assert await refused(http, f"{claims}/c", {"spec": {"devices": {"requests": []}}}, "PATCH") == [("spec", "Invalid")]
    user = {"resource": "pods", "name": "p", "uid": "u"}
    alone = {"status": {"reservedFor": [user]}}
    assert await refused(http, f"{claims}/c/status", alone, "PATCH") == [("status.reservedFor", "Forbidden")]
    device = {"driver": "d.x.io", "pool": "p", "device": "d"}
    results = [{"request": "r", **device, "tolerations": [{"key": "k"}]}]
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": [user], "devices": [device]}
    claim = await http.merge(f"{claims}/c/status", {"status": status})
    allocated = claim["status"]["allocation"]["devices"]["results"]
    assert allocated == [{**results[0], "tolerations": [{"key": "k", "operator": "Equal"}]}]
    moved = {"status": {"allocation": {"devices": {"results": [{**allocated[0], "device": "e"}]}}}}
    assert await refused(http, f"{claims}/c/status", moved, "PATCH") == [("status.allocation", "Invalid")]
    freed = await http.merge(f"{claims}/c/status", {"status": {"allocation": None, "reservedFor": None}})
    assert freed["status"] == {}


async def test_a_driver_has_a_generation_once_it_has_changed(http: Http) -> None:
    created = await http.create(f"{STORAGE}/csidrivers", named("d", spec={}))
    labelled = await http.merge(f"{STORAGE}/csidrivers/d", {"metadata": {"labels": {"a": "b"}}})
    changed = await http.merge(f"{STORAGE}/csidrivers/d", {"spec": {"requiresRepublish": True}})
    assert [one["metadata"].get("generation") for one in (created, labelled, changed)] == [None, None, 1]


async def test_the_source_of_a_claim_has_its_old_and_new_form(http: Http) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "dataSource": {"kind": "PersistentVolumeClaim", "name": "other"},
    }
    claim = await http.create("/api/v1/namespaces/default/persistentvolumeclaims", named("c", spec=spec))
    assert claim["spec"]["dataSourceRef"] == claim["spec"]["dataSource"]


# -- refusals ----------------------------------------------------------------------------------------------------------


TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


async def test_an_autoscaler_is_seen_in_both_versions_of_its_api(http: Http) -> None:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    await http.create(f"/apis/autoscaling/v1/{AUTOSCALERS}", named("old", spec=spec))
    new = await http.get(f"/apis/autoscaling/v2/{AUTOSCALERS}/old")
    target = {"type": "Utilization", "averageUtilization": 50}
    assert new["spec"]["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]

    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 3, "metrics": [{"type": "Resource", "resource": memory}]}
    await http.create(f"/apis/autoscaling/v2/{AUTOSCALERS}", named("new", spec={**spec, "behavior": {}}))
    path = f"/apis/autoscaling/v1/{AUTOSCALERS}/new"
    old = await http.get(path)
    assert "1Gi" in old["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"]
    assert "targetCPUUtilizationPercentage" not in old["spec"]

    await http.merge(path, {"spec": {"maxReplicas": 4}})
    new = await http.get(f"/apis/autoscaling/v2/{AUTOSCALERS}/new")
    assert (new["spec"]["maxReplicas"], new["spec"]["metrics"]) == (4, spec["metrics"])
    assert new["spec"]["behavior"]["scaleUp"]["selectPolicy"] == "Max"
    assert "annotations" not in new["metadata"]


async def test_an_event_is_patched_in_the_words_of_its_group(http: Http) -> None:
    event = {
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "type": "Normal",
        "reason": "R",
        "action": "A",
        "note": "n",
        "reportingController": "a.com/c",
        "reportingInstance": "c-1",
    }
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    await http.create(events, named("e", **event))
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}
    patched = await http.merge(f"{events}/e", {"series": series})
    assert (patched["series"], patched["note"]) == (series, "n")
    patched = await http.merge(f"{events}/e", {"metadata": {"labels": {"a": "b"}}})
    assert (patched["note"], patched["regarding"]) == ("n", event["regarding"])


async def test_objects_of_all_namespaces_are_not_deleted_at_once(http: Http) -> None:
    await http.create("/api/v1/namespaces/default/configmaps", named("x"))
    code, answer = await http("DELETE", "/api/v1/configmaps")
    assert (code, answer["reason"]) == (405, "MethodNotAllowed")
    assert (await http("GET", "/api/v1/namespaces/default/configmaps/x"))[0] == 200


@pytest.mark.parametrize("parameter", ["limit", "timeoutSeconds"])
@pytest.mark.parametrize("value", ["", "1_0", "ten", "9223372036854775808"])
async def test_parameters_that_are_no_numbers_are_refused(http: Http, parameter: str, value: str) -> None:
    code, answer = await http("GET", f"/api/v1/namespaces/default/configmaps?{parameter}={value}")
    assert (code, answer["reason"]) == (400, "BadRequest")
    assert answer["message"].startswith(f'strconv.ParseInt: parsing "{value}": ')
