"""What each kind gets by default, what may not be in it, and what of it never changes."""

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

CONTAINERS = [{"name": "c", "image": "i"}]
LIMIT = {"resourceFieldRef": {"resource": "limits.cpu"}}
TOLD_LIMIT = {"path": "p", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}}
NETWORKING = "/apis/networking.k8s.io/v1"
STORAGE = "/apis/storage.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
AUTOSCALERS = "namespaces/default/horizontalpodautoscalers"
ROLE_GROUP = "rbac.authorization.k8s.io"


def named(name: str, **rest: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **rest}


def template(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS, **spec}}


def workload(name: str, pods: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return named(name, spec={"selector": {"matchLabels": {"a": "b"}}, "template": pods, **spec})


async def refused(http: Http, path: str, body: Any, method: str = "POST") -> list[tuple[str, str]]:
    """The fields that a write is refused for, and why."""
    type_ = "application/merge-patch+json" if method == "PATCH" else "application/json"
    code, answer = await http(method, path, body, type_)
    assert code == 422, answer
    return [(cause["field"], cause["reason"].removeprefix("FieldValue")) for cause in answer["details"]["causes"]]


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

INGRESS_PATHS = [
    {"path": "x", "pathType": "Prefix", "backend": {"service": {"name": "s"}}},
    {"path": "/", "backend": {}},
]
BAD_POD = {
    "containers": [{"name": "c", "image": "i", "envFrom": [{}], "securityContext": {"runAsUser": -1}}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
    "dnsPolicy": "None",
    "readinessGates": [{"conditionType": "no type"}],
    "topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "Never"}],
    "hostAliases": [{"ip": "nowhere"}],
}


VARIABLES = [
    {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.none"}}},
    {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}},
    {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}},
    {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.none"}}},
    {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}},
    {"name": "F", "value": "f", "valueFrom": {"configMapKeyRef": {"name": "m"}}},
    {"name": "G", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['A']"}}},
    {"name": "H", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}}},
]
VOLUMES = [
    {"name": "v", "downwardAPI": {"items": [{"path": "../up", "fieldRef": {"fieldPath": "status.podIP"}}]}},
    {"name": "w", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 1}}]}},
]


BAD_REQUESTS: dict[str, Any] = {
    "requests": [
        {"name": "R"},
        {
            "name": "r",
            "exactly": {
                "selectors": [{}],
                "count": -1,
                "tolerations": [{"key": "k", "operator": "Exists", "value": "v"}],
            },
        },
        {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "c"}, {"name": "a", "deviceClassName": "c"}]},
    ],
    "constraints": [{"requests": ["r/a", "r/b"]}],
    "config": [{"opaque": {"driver": "d.x", "parameters": "none"}}],
}


@pytest.mark.parametrize(
    ("path", "body", "causes"),
    [
        (
            f"{NETWORKING}/namespaces/default/ingresses",
            {"spec": {"rules": [{"http": {"paths": INGRESS_PATHS}}]}},
            [
                ("spec.rules[0].http.paths[0].path", "Invalid"),
                ("spec.rules[0].http.paths[0].backend", "Required"),
                ("spec.rules[0].http.paths[1].pathType", "Required"),
            ],
        ),
        (f"{NETWORKING}/namespaces/default/ingresses", {"spec": {}}, [("spec", "Invalid")]),
        (
            f"{NETWORKING}/namespaces/default/networkpolicies",
            {"spec": {"policyTypes": ["X"], "ingress": [{"from": [{}], "ports": [{"port": 0}]}]}},
            [
                ("spec.ingress[0].ports[0].port", "Invalid"),
                ("spec.ingress[0].from[0]", "Required"),
                ("spec.policyTypes[0]", "NotSupported"),
            ],
        ),
        (
            f"/apis/autoscaling/v2/{AUTOSCALERS}",
            {
                "spec": {
                    "scaleTargetRef": {"kind": "Deployment", "apiVersion": "v1"},
                    "minReplicas": 5,
                    "maxReplicas": 3,
                    "metrics": [{"type": "Resource"}],
                }
            },
            [
                ("spec.maxReplicas", "Invalid"),
                ("spec.scaleTargetRef.name", "Required"),
                ("spec.scaleTargetRef.apiVersion", "Invalid"),
                ("spec.metrics[0].resource", "Required"),
            ],
        ),
        (
            f"{RBAC}/namespaces/default/roles",
            {"rules": [{"verbs": ["get"]}, {"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
            [
                ("rules[0].apiGroups", "Required"),
                ("rules[0].resources", "Required"),
                ("rules[1].nonResourceURLs", "Invalid"),
            ],
        ),
        (
            f"{RBAC}/clusterrolebindings",
            {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "a"}]},
            [("roleRef.kind", "NotSupported"), ("subjects[0].namespace", "Required")],
        ),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 1000000001}, [("value", "Forbidden")]),
        (
            f"{STORAGE}/storageclasses",
            {"reclaimPolicy": "Recycle", "volumeBindingMode": "Later"},
            [("provisioner", "Required"), ("reclaimPolicy", "NotSupported"), ("volumeBindingMode", "NotSupported")],
        ),
        (
            "/api/v1/namespaces/default/limitranges",
            {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}, {"type": "Bogus"}]}},
            [("spec.limits[0].min[cpu]", "Invalid"), ("spec.limits[1].type", "Invalid")],
        ),
        (
            "/api/v1/persistentvolumes",
            {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["X"]}},
            [("spec.accessModes", "NotSupported"), ("spec", "Required")],
        ),
        (
            "/apis/apps/v1/namespaces/default/daemonsets",
            {
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": template(),
                    "updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
                }
            },
            [("spec.updateStrategy.rollingUpdate.maxSurge", "Invalid")],
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            {
                "spec": {
                    "schedule": "TZ=UTC * * * * *",
                    "timeZone": "Local",
                    "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}},
                }
            },
            [("spec.schedule", "Invalid"), ("spec.timeZone", "Invalid")],
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            {
                "spec": {
                    # The first is odd, but Kubernetes reads it: what follows a star and a hyphen does not count.
                    "schedule": "*-x 5-1 * * *",
                    "timeZone": "Europe/./Berlin",
                    "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}},
                }
            },
            [("spec.schedule", "Invalid"), ("spec.timeZone", "Invalid")],
        ),
        (
            "/api/v1/namespaces/default/pods",
            {"spec": BAD_POD},
            [
                ("spec.containers[0].envFrom", "Invalid"),
                ("spec.containers[0].securityContext.runAsUser", "Invalid"),
                (
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
                    "Required",
                ),
                ("spec.dnsConfig", "Required"),
                ("spec.readinessGates[0].conditionType", "Invalid"),
                ("spec.topologySpreadConstraints[0].maxSkew", "Invalid"),
                ("spec.topologySpreadConstraints[0].whenUnsatisfiable", "NotSupported"),
                ("spec.hostAliases[0].ip", "Invalid"),
            ],
        ),
        (
            "/api/v1/namespaces/default/pods",
            {"spec": {"containers": [{"name": "c", "image": "i", "env": VARIABLES}], "volumes": VOLUMES}},
            [
                ("spec.volumes[0].downwardAPI.path", "Invalid"),
                ("spec.volumes[0].downwardAPI.fieldRef.fieldPath", "NotSupported"),
                ("spec.volumes[1].projected.sources[0].serviceAccountToken.expirationSeconds", "Invalid"),
                ("spec.containers[0].env[0].valueFrom.fieldRef.fieldPath", "Invalid"),
                ("spec.containers[0].env[1].valueFrom.fieldRef.fieldPath", "NotSupported"),
                ("spec.containers[0].env[2].valueFrom.fieldRef", "Invalid"),
                ("spec.containers[0].env[3].valueFrom.resourceFieldRef.resource", "NotSupported"),
                ("spec.containers[0].env[4].valueFrom.resourceFieldRef.divisor", "Invalid"),
                ("spec.containers[0].env[5].valueFrom.configMapKeyRef.key", "Required"),
                ("spec.containers[0].env[5].valueFrom", "Invalid"),
            ],
        ),
        (
            "/api/v1/namespaces/default/secrets",
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "none"}},
            [("data[.dockerconfigjson]", "Invalid")],
        ),
        ("/apis/node.k8s.io/v1/runtimeclasses", {}, [("handler", "Required")]),
        (
            "/apis/apps/v1/namespaces/default/controllerrevisions",
            {"revision": -1},
            [("revision", "Invalid"), ("data", "Required")],
        ),
        (
            "/api/v1/nodes",
            {"spec": {"taints": [{"key": "a", "effect": "Never"}]}},
            [("metadata.taints[0].effect", "NotSupported")],
        ),
        (
            "/api/v1/namespaces/default/pods",
            {
                "spec": {
                    "resourceClaims": [{"name": ""}, {"name": "g"}],
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "resources": {"claims": [{"name": "g"}, {"name": "h"}, {"name": ""}]},
                        }
                    ],
                }
            },
            [
                ("spec.containers[0].resources.claims[1]", "NotFound"),
                ("spec.containers[0].resources.claims[2]", "Required"),
                ("spec.resourceClaims[0].name", "Required"),
            ],
        ),
        (
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            {"spec": {"devices": BAD_REQUESTS}},
            [
                ("spec.devices.requests[0].name", "Invalid"),
                ("spec.devices.requests[0]", "Required"),
                ("spec.devices.requests[1].exactly.deviceClassName", "Required"),
                ("spec.devices.requests[1].exactly.selectors[0].cel", "Required"),
                ("spec.devices.requests[1].exactly.count", "Invalid"),
                ("spec.devices.requests[1].exactly.tolerations[0].value", "Invalid"),
                ("spec.devices.requests[2].firstAvailable[1]", "Duplicate"),
                ("spec.devices.requests[2]", "Duplicate"),
                ("spec.devices.constraints[0].requests[1]", "Invalid"),
                ("spec.devices.constraints[0]", "Required"),
                ("spec.devices.config[0].opaque.parameters", "Invalid"),
            ],
        ),
        (
            "/apis/resource.k8s.io/v1/resourceslices",
            {"spec": {"driver": "D.x-", "pool": {"name": "p"}, "devices": [{"name": "d", "taints": [{"key": "k"}]}]}},
            [
                ("spec.driver", "Invalid"),
                ("spec.pool.resourceSliceCount", "Invalid"),
                ("spec", "Required"),
                ("spec.devices[0].taints[0].effect", "Required"),
            ],
        ),
        (
            "/apis/networking.k8s.io/v1/ipaddresses",
            {"spec": {"parentRef": {"name": "s"}}},
            [("metadata.name", "Invalid"), ("spec.parentRef.resource", "Required")],
        ),
        ("/apis/networking.k8s.io/v1/servicecidrs", {"spec": {}}, [("spec.cidrs", "Required")]),
        (
            "/apis/networking.k8s.io/v1/servicecidrs",
            {"spec": {"cidrs": ["10.0.0.0/8", "10.9.0.0/16"]}},
            [("spec.cidrs", "Invalid")],
        ),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            {"provisioner": "p", "allowedTopologies": [{"matchLabelExpressions": [{"key": "k", "values": []}]}]},
            [("allowedTopologies[0].matchLabelExpressions[0].values", "Required")],
        ),
        (
            "/apis/storage.k8s.io/v1/volumeattachments",
            {"spec": {"attacher": "::", "nodeName": "n", "source": {"persistentVolumeName": "P"}}},
            [("spec.attacher", "Invalid"), ("spec.source.persistentVolumeName", "Invalid")],
        ),
    ],
)
async def test_what_is_wrong_is_told_field_by_field(http: Http, path: str, body: Any, causes: Any) -> None:
    assert await refused(http, path, named("x", **body)) == causes


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}, "nfs": {"server": "s", "path": "/"}}


@pytest.mark.parametrize(
    ("path", "body", "change", "causes"),
    [
        (
            f"{RBAC}/clusterrolebindings",
            {"roleRef": {"kind": "ClusterRole", "name": "r"}},
            {"roleRef": {"name": "other"}},
            [("roleRef", "Invalid")],
        ),
        (f"{STORAGE}/storageclasses", {"provisioner": "p"}, {"provisioner": "q"}, [("provisioner", "Invalid")]),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 1}, {"value": 2}, [("value", "Forbidden")]),
        (
            "/api/v1/persistentvolumes",
            {"spec": VOLUME},
            {"spec": {"nfs": {"path": "/other"}}},
            [("spec.persistentvolumesource", "Forbidden")],
        ),
        (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            {"spec": CLAIM},
            {"spec": {"resources": {"requests": {"storage": "1Gi"}}}},
            [("spec", "Forbidden")],
        ),
        (
            "/apis/apps/v1/namespaces/default/daemonsets",
            {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template()}},
            {"spec": {"selector": {"matchLabels": {"a": "c"}}}},
            [("spec.selector", "Invalid"), ("spec.template.metadata.labels", "Invalid")],
        ),
        (
            f"{NETWORKING}/ingressclasses",
            {"spec": {"controller": "a.com/c"}},
            {"spec": {"controller": "a.com/d"}},
            [("spec.controller", "Invalid")],
        ),
        ("/apis/node.k8s.io/v1/runtimeclasses", {"handler": "a"}, {"handler": "b"}, [("handler", "Invalid")]),
        (
            "/apis/apps/v1/namespaces/default/controllerrevisions",
            {"revision": 1, "data": {"a": 1}},
            {"data": {"a": 2}},
            [("data", "Invalid")],
        ),
        (
            "/api/v1/nodes",
            {"spec": {"providerID": "a"}},
            {"spec": {"providerID": "b"}},
            [("spec.providerID", "Forbidden")],
        ),
        (
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}},
            {"spec": {"devices": {"requests": [{"name": "R"}]}}},
            [("spec", "Invalid")],
        ),
        (
            f"{NETWORKING}/servicecidrs",
            {"spec": {"cidrs": ["10.0.0.0/8"]}},
            {"spec": {"cidrs": ["10.0.0.0/9", "10.1.0.0/16"]}},
            [("spec.cidrs[0]", "Invalid"), ("spec.cidrs", "Invalid")],
        ),
        (
            f"{STORAGE}/volumeattributesclasses",
            {"driverName": "d", "parameters": {"a": "b"}},
            {"parameters": {"a": "c"}},
            [("parameters", "Forbidden")],
        ),
        (
            f"{STORAGE}/csinodes",
            {"spec": {"drivers": [{"name": "D", "nodeID": "n"}]}},
            {"spec": {"drivers": [{"name": "D", "nodeID": "m"}]}},
            [("spec.drivers", "Invalid")],
        ),
    ],
)
async def test_what_never_changes_is_refused(http: Http, path: str, body: Any, change: Any, causes: Any) -> None:
    await http.create(path, named("x", **body))
    assert await refused(http, f"{path}/x", change, "PATCH") == causes


async def test_a_claim_is_bound_once(http: Http) -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    await http.create(claims, named("c", spec=CLAIM))
    await http.merge(f"{claims}/c", {"spec": {"volumeName": "v"}})
    assert await refused(http, f"{claims}/c", {"spec": {"volumeName": "w"}}, "PATCH") == [("spec", "Forbidden")]


# -- versions ----------------------------------------------------------------------------------------------------------

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
